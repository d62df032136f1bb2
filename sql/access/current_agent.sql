-- Who is asking? The service names the agent of a request in the transaction-local setting loci.agent; people are known
-- by their login. The setting counts only for sessions of the service's role, so an analyst cannot pose as another.
-- Security definer: reads agents, which callers may not.
create or replace function loci.current_agent() returns uuid
language sql stable parallel safe security definer set search_path = ''
as $$
    select case when pg_catalog.pg_has_role(session_user, 'loci_app', 'member')
                then nullif(current_setting('loci.agent', true), '')::uuid
                else (select id from loci_data.agents where database_role = session_user) end
$$;
comment on function loci.current_agent() is
    'Agent of this statement, or null: loci.agent for the service, the login role for analysts.';
