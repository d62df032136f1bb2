-- The keys of agents that are at home in a namespace, newest first; never their hashes. To the operator, also those of
-- other agents with a grant here that work here; and the one that p_key_id asks for, wherever it is. role: what its
-- agent is here; null: nothing. namespaces: those that the key is kept to, as far as the caller may read them; null:
-- wherever its agent has grants. default_namespace: likewise. Admin. Security definer: reads keys and grants.
create or replace function loci_api.list_keys(p_namespace text, p_limit integer default 100,
                                              p_cursor uuid default null, p_key_id uuid default null)
returns table (id uuid, name text, agent_id uuid, role text, scope text, namespaces text[], default_namespace text,
               space text, "user" text, time_zone text, rate_limit integer, created_at timestamptz,
               expires_at timestamptz, revoked_at timestamptz, replaced_by uuid, last_used_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'admin');
    v_readable integer[] := loci.readable_namespaces();
    v_operator boolean := loci_internal.is_operator();
begin
    return query
    select k.id, k.name, k.agent_id, g.role, k.scope,
           case when k.namespaces is not null then array(select n.name from loci_data.namespaces n
                where n.id = any (k.namespaces) and n.id = any (v_readable) order by n.name) end,
           (select n.name from loci_data.namespaces n where n.id = k.default_namespace_id and n.id = any (v_readable)),
           k.space, k.user_name, k.time_zone, k.rate_limit, k.created_at, k.expires_at, k.revoked_at, k.replaced_by,
           k.last_used_at
    from loci_data.agents a
    join loci_data.api_keys k on k.agent_id = a.id
    left join loci_data.grants g on g.namespace_id = v_ns and g.agent_id = a.id
    where case when p_key_id is not null then k.id = p_key_id and (v_operator or a.home_id = v_ns)
               else a.home_id = v_ns or v_operator and g.role is not null and (k.namespaces is null
                                                                               or v_ns = any (k.namespaces)) end
      and (p_cursor is null or k.id < p_cursor)
    order by k.id desc limit p_limit;
end $$;
comment on function loci_api.list_keys(text, integer, uuid, uuid) is
    'API keys of agents at home in a namespace, newest first; one if named. Admin. Errors: 42501, P0002.';
