-- What is an agent called? Views show the name beside the id. Anybody with an id may ask: ids are random, and stand
-- in rows that one may read. A primary-key look-up, for rows in which the name is asked for. Security definer: reads
-- agents, which callers may not, so that nobody can list them. No errors.
create or replace function loci.agent_name(p_agent_id uuid) returns text
language sql stable parallel safe security definer set search_path = ''
as $$
    select a.name from loci_data.agents a where a.id = p_agent_id
$$;
comment on function loci.agent_name(uuid) is 'Name of an agent, or null: there is none with this id. No errors.';
