-- Operations as they are read, with their changes.

-- One operation: its agent, its way in, its time, and the number of its changes. Security definer: agents and the
-- outbox are read past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_operation(p_namespace text, p_id uuid)
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz, undoes uuid, undone_by uuid, changes jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query select r.* from loci_internal.operation_rows(v_ns, array[p_id]) r;
    if not found then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id',
            hint = 'A call that changed nothing leaves none, and they are kept for the setting operation_days.';
    end if;
end $$;
comment on function loci.get_operation(text, uuid) is
    'An operation with counts of its changes. Errors: 42501, P0002.';

-- Who changed what? Operations of a namespace, newest first: by the time of their first change, then by id. A page at a
-- time: cursor, on every row, is what to send for the page that starts after it. By action, agent, way in, the thing
-- that was changed (p_subject, as long as its changes are kept), and when they began. operations_started,
-- operations_agent, operations_action or changes_subject, whichever the question is about: it is planned for each call.
-- Security definer: agents and the outbox are read past the policies; checks the caller itself. Errors: 42501, P0002,
-- 22023 (limit, via, cursor).
create or replace function loci.list_operations(
    p_namespace text, p_limit integer default 50, p_cursor text default null, p_action text default null,
    p_agent uuid default null, p_via text default null, p_subject uuid default null, p_since timestamptz default null,
    p_until timestamptz default null)
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz, undoes uuid, undone_by uuid, changes jsonb, cursor text)
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

-- What has changed since? Changes after a cursor, oldest first, of the namespaces named (null: the caller's default
-- one; {*}: all that the caller may read), of some kinds or of all. A memory's content and a turn's are joined now:
-- null once they were erased. Later calls go on after the cursor of the last one. position counts the changes of one
-- namespace; over several the order is that of the commits. A page ends early at 4 MiB; `more` says that one ended.
-- Index only: changes_place, or changes_kind; one range for each namespace and kind, merged by place, then the rows of
-- the page. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (after, kind,
-- limit), 24000 (after: swept, or its namespace is gone).
create or replace function loci.list_changes(
    p_namespaces text[] default null, p_after text default null, p_kinds text[] default null,
    p_limit integer default 100)
returns table ("position" bigint, "cursor" text, namespace text, kind text, action text, subject_id uuid,
               operation_id uuid, content text, before jsonb, after jsonb, changed_at timestamptz, agent_id uuid,
               agent text, via text, more boolean)
language sql stable security definer set search_path = ''
as $$
    select c.position, c.cursor, c.namespace, c.kind, c.action, c.subject_id, c.operation_id, c.content, c.before,
           c.after, c.changed_at, c.agent_id, c.agent, c.via, c.more
    from loci_api.read_changes(p_namespaces, p_after, null, p_kinds, p_limit) c
    order by c.place
$$;
comment on function loci.list_changes(text[], text, text[], integer) is
    'The change feed: what has changed after a cursor, oldest first, by namespace and kind. Errors: 42501, P0002, '
    '22023, 24000.';

-- Kinds of things in the change feed.
create or replace function loci_internal.change_kinds() returns text[]
language sql immutable parallel safe
return array['memory', 'placement', 'link', 'entity', 'edge', 'aspect', 'attribute', 'supersession', 'merge',
             'edge_type', 'turn',
             'namespace', 'key', 'grant', 'invitation', 'working_memory'];
comment on function loci_internal.change_kinds() is
    'Kinds of things in the change feed.';

-- What did an operation change? Its changes in the order of the feed, before and after, a page at a time: p_after is
-- the position of the last one of the page before. A memory's content stands with it, not with the change: content is
-- that of now. Changes that wait for their position are not here yet (loci_api.sequence_changes gives it); those past
-- the setting change_days are gone, and the counts stay. Index changes_operation. Security definer: reads past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.operation_changes(p_namespace text, p_id uuid, p_limit integer default 100,
                                                  p_after bigint default 0)
returns table ("position" bigint, kind text, action text, subject_id uuid, content text, before jsonb, after jsonb,
               changed_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    if not exists (select from loci_data.operations o where o.namespace_id = v_ns and o.id = p_id) then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id';
    end if;
    return query
    select c.position, c.kind, c.action, c.subject_id, m.content, c.before, c.after, c.changed_at
    from (select o.* from loci_data.changes o
          where o.namespace_id = v_ns and o.operation_id = p_id and o.position > coalesce(p_after, 0)
          order by o.position limit p_limit) c
    left join lateral (select s.content from loci_data.memories s
                       where c.kind = 'memory' and s.namespace_id = v_ns and s.id = c.subject_id limit 1) m on true
    order by c.position;
end $$;
comment on function loci.operation_changes(text, uuid, integer, bigint) is
    'Changes of an operation, before and after, in order; the position of the last one pages. Errors: 42501, P0002, '
    '22023.';

-- Operations by id with who did them and how many changes each made, by kind and action: those that have their position
-- in the feed are counted already, those that still wait in the outbox, which is short, are counted here. So an
-- operation is complete once it is committed. Primary keys, and one range of the outbox.
create or replace function loci_internal.operation_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz, undoes uuid, undone_by uuid, changes jsonb)
language sql stable parallel safe
as $$
    with waiting as materialized (
        select w.operation_id, w.kind, w.action, count(*) as count from loci_data.outbox w
        where w.namespace_id = p_namespace_id and w.operation_id = any (p_ids) group by 1, 2, 3
    )
    select o.id, o.action, o.via, o.agent_id, a.name, o.key_id, o.request_id, o.started_at, o.undoes, o.undone_by,
           (select coalesce(jsonb_object_agg(n.kind || '.' || n.action, n.count), '{}')
            from (select c.kind, c.action, sum(c.count) as count
                  from (select p.kind, p.action, p.count from loci_data.operation_counts p
                        where p.namespace_id = p_namespace_id and p.operation_id = o.id
                        union all select w.kind, w.action, w.count from waiting w where w.operation_id = o.id) c
                  group by c.kind, c.action) n)
    from loci_data.operations o
    left join loci_data.agents a on a.id = o.agent_id
    where o.namespace_id = p_namespace_id and o.id = any (p_ids)
    order by o.started_at desc, o.id desc
$$;
comment on function loci_internal.operation_rows(integer, uuid[]) is
    'Operations with agents and counts of changes, newest first.';

-- Changes, [{kind, subject_id, …}], each with `content`: what the thing is in words, as it is now; null for kinds that
-- have none. A few look-ups in primary keys each.
create or replace function loci_internal.described_changes(p_namespace_id integer, p_changes jsonb) returns jsonb
language sql stable
as $$
    select coalesce(jsonb_agg(c.change || jsonb_build_object('content', loci_internal.subject_in_words(
               p_namespace_id, c.change ->> 'kind', (c.change ->> 'subject_id')::uuid)) order by c.nth), '[]')
    from jsonb_array_elements(p_changes) with ordinality c(change, nth)
$$;
comment on function loci_internal.described_changes(integer, jsonb) is
    'Changes with what each thing is in words.';

-- What is the subject of a change, in words? Places and links are those of a lineage: its newest version.
create or replace function loci_internal.subject_in_words(p_namespace_id integer, p_kind text, p_id uuid) returns text
language sql stable
as $$
    select case p_kind
        when 'memory' then (select m.content from loci_data.memories m
                            where m.namespace_id = p_namespace_id and m.id = p_id)
        when 'entity' then (select e.name from loci_data.entities e
                            where e.namespace_id = p_namespace_id and e.id = p_id)
        when 'edge' then (select concat_ws(' ', s.name, e.type, coalesce(t.name, e.literal)) from loci_data.edges e
                          join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
                          left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
                          where e.namespace_id = p_namespace_id and e.id = p_id)
        when 'attribute' then (select a.content from loci_data.attributes a
                               where a.namespace_id = p_namespace_id and a.id = p_id)
        when 'aspect' then (select a.name from loci_data.aspects a
                            where a.namespace_id = p_namespace_id and a.id = p_id)
        when 'placement' then loci_internal.lineage_in_words(p_namespace_id, p_id)
        when 'link' then loci_internal.lineage_in_words(p_namespace_id, p_id)
        end
$$;
comment on function loci_internal.subject_in_words(integer, text, uuid) is
    'Subject of a change, in words.';

-- The text of the newest version of a lineage. Index memories_chain.
create or replace function loci_internal.lineage_in_words(p_namespace_id integer, p_lineage_id uuid) returns text
language sql stable
as $$
    select m.content from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id
    order by m.valid_from desc, m.id desc limit 1
$$;
comment on function loci_internal.lineage_in_words(integer, uuid) is
    'Text of the newest version of a lineage.';
