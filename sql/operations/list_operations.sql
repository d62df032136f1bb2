-- Who changed what? Operations of a namespace, newest first, a page at a time: p_cursor is the id of the last one of
-- the page before. By action, agent, way in, the thing that was changed (p_subject, as long as its changes are kept),
-- and when they began. Ids are ordered by time, so the times narrow them down as well; a day of slack is for clocks
-- that differ, and for calls that prepare for long. Primary key, operations_agent, operations_action or
-- changes_subject, whichever the question is about: it is planned for each call. Security definer: agents and the
-- outbox are read past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, via).
create or replace function loci.list_operations(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_action text default null,
    p_agent uuid default null,
    p_via text default null, p_subject uuid default null, p_since timestamptz default null,
    p_until timestamptz default null)
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz,
               undoes uuid, undone_by uuid, changes jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_lowest uuid := coalesce(loci_api.uuid7_floor(p_since - interval '1 day'), loci_internal.nil_uuid());
    v_bound  uuid := least(p_cursor, loci_api.uuid7_floor(p_until + interval '1 day'),
                           'ffffffff-ffff-ffff-ffff-ffffffffffff');
    v_about  uuid[];
    v_page   uuid[];
begin
    perform loci_internal.check_page(p_limit);
    if p_via not in ('rest', 'mcp', 'cli', 'worker', 'sql') then
        raise invalid_parameter_value
            using message = format('via must be rest, mcp, cli, worker or sql, not %L', p_via), column = 'via';
    end if;
    if p_subject is not null then
        v_about := array(select c.operation_id from loci_data.changes c where c.namespace_id = v_ns
                         and c.subject_id = p_subject
                         union select w.operation_id from loci_data.outbox w where w.namespace_id = v_ns
                             and w.subject_id = p_subject);
    end if;
    v_page := array(
        select o.id from loci_data.operations o
        where o.namespace_id = v_ns and o.id >= v_lowest and o.id < v_bound
          and (v_about is null or o.id = any (v_about)) and (p_agent is null or o.agent_id = p_agent)
          and (p_action is null or o.action = p_action) and (p_via is null or o.via = p_via)
          and (p_since is null or o.started_at >= p_since) and (p_until is null or o.started_at < p_until)
        order by o.id desc limit p_limit);
    return query select r.* from loci_internal.operation_rows(v_ns, v_page) r order by r.id desc;
end $$;
comment on function loci.list_operations(text, integer, uuid, text, uuid, text, uuid, timestamptz, timestamptz) is
    'Operations of a namespace, newest first, with counts of their changes; the id of the last one pages. Errors: '
    '42501, P0002, 22023.';
