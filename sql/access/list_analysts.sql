-- Who may ask in SQL, what may they see, and how long may their statements run? By login. The operator's. Security
-- definer: reads agents and grants.
create or replace function loci_api.list_analysts()
returns table (login name, agent_id uuid, namespaces jsonb, statement_limit interval, created_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('list analysts');
    return query
    select a.database_role, a.id, coalesce(g.namespaces, '[]'), a.statement_limit, a.created_at
    from loci_data.agents a
    cross join lateral (
        select jsonb_agg(jsonb_build_object('namespace', n.name, 'expires_at', r.expires_at)
                         order by n.name) as namespaces
        from loci_data.grants r join loci_data.namespaces n on n.id = r.namespace_id
        where r.agent_id = a.id and (r.expires_at is null or r.expires_at > clock_timestamp())) g
    where a.kind = 'analyst'
    order by a.database_role;
end $$;
comment on function loci_api.list_analysts() is
    'Analysts by login, with the namespaces that they may read now: [{namespace, expires_at}]. Operator only. Errors: '
    '42501.';
