-- Grants as the API shows them, with the names of their agents. Two primary keys. Inlines. Called by set_grant, delete_grant and list_grants; internal.
create or replace function loci.grant_rows(p_namespace_id integer, p_agents uuid[])
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz)
language sql stable
as $$
    select g.agent_id, a.name, a.kind, g.role, g.expires_at, g.created_at
    from loci_data.grants g join loci_data.agents a on a.id = g.agent_id
    where g.namespace_id = p_namespace_id and g.agent_id = any(p_agents)
$$;
comment on function loci.grant_rows(integer, uuid[]) is 'Grants with the names of their agents. Internal.';
