-- An analyst is none any more: the agent and its grants are deleted; what it sees is nothing from the next statement
-- on. The login is dropped in the same transaction, by who may (db/access/analysts.py). Security definer: as
-- create_analyst_agent.
create or replace function loci_api.delete_analyst_agent(p_login name) returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    delete from loci_data.agents where id = loci_api.analyst_agent_id(p_login);
end $$;
comment on function loci_api.delete_analyst_agent(name) is
    'Delete an analyst''s agent and grants. Errors: P0002.';
