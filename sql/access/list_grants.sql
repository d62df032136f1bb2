-- Roles in a namespace, and their ends: agents in order of their ids (that of their making, for agents of keys). Grants
-- that are void by now are listed too, as expired, and invitations, as not accepted. cursor: the last
-- agent_id of the page before. Ranges of the primary keys. Admin. Security definer: reads grants and agents. Errors:
-- 42501, P0002, 22023 (limit).
create or replace function loci_api.list_grants(p_namespace text, p_limit integer default 100,
                                                p_cursor uuid default null)
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz,
               accepted boolean, expired boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select r.*, coalesce(r.expires_at <= clock_timestamp(), false)
    from loci_internal.grant_rows(v_ns, array(
        select g.agent_id from (
            (select o.agent_id from loci_data.grants o
             where o.namespace_id = v_ns and (p_cursor is null or o.agent_id > p_cursor)
             order by o.agent_id limit p_limit)
            union all
            (select o.agent_id from loci_data.invitations o
             where o.namespace_id = v_ns and (p_cursor is null or o.agent_id > p_cursor)
             order by o.agent_id limit p_limit)) g
        order by g.agent_id limit p_limit)) r
    order by r.agent_id;
end $$;
comment on function loci_api.list_grants(text, integer, uuid) is
    'Agents with a role in a namespace, or invited, expired ones included; cursor pages. Admin. Errors: 42501, P0002, '
    '22023.';
