-- Who is the caller, and what may it do where? Its id is what others name in a grant. key_id: the key of this request,
-- null without one. grants: JSON array of {namespace, role, expires_at}, by name, those in force now, as far as the
-- key's scope lets them; null for the operator, who is admin everywhere. No row without an agent. Security definer:
-- reads agents and grants. No errors.
create or replace function loci_api.whoami()
returns table (agent_id uuid, name text, kind text, key_id uuid, created_at timestamptz, grants jsonb)
language sql stable security definer set search_path = ''
as $$
    select a.id, a.name, a.kind, case when a.kind = 'key' then nullif(current_setting('loci.key', true), '')::uuid end,
           a.created_at,
           case when a.kind <> 'operator' then coalesce((
               select jsonb_agg(jsonb_build_object('namespace', n.name, 'role', loci_internal.scoped_role(g.role),
                                                   'expires_at', g.expires_at) order by n.name)
               from loci_data.grants g join loci_data.namespaces n on n.id = g.namespace_id
               where g.agent_id = a.id and g.namespace_id = any ((select loci.readable_namespaces())::integer[])),
                   '[]') end
    from loci_data.agents a where a.id = loci.current_agent()
$$;
comment on function loci_api.whoami() is
    'The calling agent, the key of this request, and the roles it has; one row, none without an agent.';
