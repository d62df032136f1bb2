-- Who changed what? Operations of a namespace, newest first: by the time of their first change, then by id. A page at a
-- time: cursor, on every row, is what to send for the page that starts after it. By action, agent, way in, the thing
-- that was changed (p_subject, as long as its changes are kept), and when they began. operations_started,
-- operations_agent, operations_action or changes_subject, whichever the question is about: it is planned for each call.
-- Security definer: agents and the outbox are read past the policies; checks the caller itself. Errors: 42501, P0002,
-- 22023 (limit, via, cursor).
create or replace function loci.list_operations(
    p_namespace text, p_limit integer default 50, p_cursor text default null, p_action text default null,
    p_agent uuid default null,
    p_via text default null, p_subject uuid default null, p_since timestamptz default null,
    p_until timestamptz default null)
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz,
               undoes uuid, undone_by uuid, changes jsonb, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_key    text[] := loci_internal.read_cursor(p_cursor, 'timestamptz', 'uuid');
    v_at     timestamptz := coalesce(v_key[1]::timestamptz, 'infinity');
    v_before uuid := coalesce(v_key[2]::uuid, loci_internal.nil_uuid());
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
        where o.namespace_id = v_ns and (o.started_at, o.id) < (v_at, v_before)
          and (v_about is null or o.id = any (v_about)) and (p_agent is null or o.agent_id = p_agent)
          and (p_action is null or o.action = p_action) and (p_via is null or o.via = p_via)
          and (p_since is null or o.started_at >= p_since) and (p_until is null or o.started_at < p_until)
        order by o.started_at desc, o.id desc limit p_limit);
    return query select r.*, loci_internal.make_cursor(jsonb_build_array(r.started_at, r.id))
        from loci_internal.operation_rows(v_ns, v_page) r order by r.started_at desc, r.id desc;
end $$;
comment on function loci.list_operations(text, integer, text, text, uuid, text, uuid, timestamptz, timestamptz) is
    'Operations of a namespace, newest first (by when they began to write, then by id), with counts of their changes; '
    'cursor pages. Errors: 42501, P0002, 22023.';
