-- Checks of an undo: locks, a preview, and attributes changed since.

-- Lock what undoing an operation changes, before anybody asks what was changed since: a change under way is waited for
-- and then found, and none begins between the question and the undoing. Order: merges; entities in order of
-- canonical_name; as remember lineages in order of name, then memories in order of id; the hierarchy; links; the ends
-- of edges; as everywhere aspects, decisions, attributes; the namespace; grants. Merges lock their entities, edges and
-- attributes themselves (undo_merge). p_kinds: those that the operation has.
create or replace function loci_internal.lock_undone(p_namespace_id integer, p_operation uuid, p_kinds text[])
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if 'merge' = any (p_kinds) then
        perform loci_internal.lock_merges(p_namespace_id);
    elsif 'entity' = any (p_kinds) then
        perform from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = any (array(select n.subject_id
                                from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                                where not n.created and n.before is not null))
        order by e.canonical_name, e.id for update;
    end if;
    if 'memory' = any (p_kinds) then
        perform from loci_data.lineages l
        where l.namespace_id = p_namespace_id and l.lineage = any (array(
              select distinct m.lineage from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') n
              cross join lateral (select x.lineage from loci_data.memories x where x.namespace_id = p_namespace_id
                                  and x.id = n.subject_id limit 1) m))
        order by l.lineage for no key update;
        perform from loci_data.memories m
        where m.namespace_id = p_namespace_id
          and m.id = any (array(select n.subject_id
                                from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') n))
        order by m.id for no key update;
    end if;
    if 'placement' = any (p_kinds) then
        perform loci_internal.lock_hierarchy(p_namespace_id, true);
    end if;
    if 'link' = any (p_kinds) then
        perform loci_internal.lock_undone_links(p_namespace_id, p_operation);
    end if;
    if 'merge' <> all (p_kinds) then
        perform loci_internal.lock_edge_ends(p_namespace_id, p_operation, array(
            select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'edge') n));
        if p_kinds && '{aspect,attribute,supersession}' then
            perform loci_internal.lock_undone_attributes(p_namespace_id, p_operation);
        end if;
    end if;
    if p_kinds && '{edge_type,namespace}' then
        perform from loci_data.namespaces n where n.id = p_namespace_id for no key update;  -- rates change in turns
    end if;
    if 'grant' = any (p_kinds) then
        perform loci_internal.lock_grants(p_namespace_id);
    end if;
end $$;
comment on function loci_internal.lock_undone(integer, uuid, text[]) is
    'Lock what undoing an operation changes.';

-- Lock the existing links of an operation against ending and changes of strength. One that another makes meanwhile,
-- where the operation ended one, stays as it is (undo_links).
create or replace function loci_internal.lock_undone_links(p_namespace_id integer, p_operation uuid) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform from loci_data.memory_links l
    join (select distinct n.source_id, n.target_id, n.type
          from loci_internal.net_link_changes(p_namespace_id, p_operation) n) n
        on n.source_id = l.source_id and n.target_id = l.target_id and n.type = l.type
    where l.namespace_id = p_namespace_id and l.superseded_at is null
    order by l.source_id, l.target_id, l.type for no key update of l;
end $$;
comment on function loci_internal.lock_undone_links(integer, uuid) is
    'Lock the links that undoing an operation changes.';

-- Lock the aspects, decisions and attributes of an operation, each in order of id.
create or replace function loci_internal.lock_undone_attributes(p_namespace_id integer, p_operation uuid) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ids uuid[] := array(select n.subject_id
                          from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n);
begin
    perform from loci_data.aspects s
    where s.namespace_id = p_namespace_id and s.id = any (array(
          select a.aspect_id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_ids)
          union select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'aspect') n))
    order by s.id for no key update;
    perform from loci_data.supersessions s
    where s.namespace_id = p_namespace_id
      and s.id = any (array(select n.subject_id
                            from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n))
    order by s.id for update;
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_ids) order by a.id
        for no key update;
end $$;
comment on function loci_internal.lock_undone_attributes(integer, uuid) is
    'Lock the aspects, decisions and attributes that undoing an operation changes.';

-- What would undoing an operation do, and what stands in its way? It is undone, by the same function, and taken back: a
-- subtransaction that fails at its end. Nothing of it is left but the locks of a moment. undone, skipped and conflicts
-- as undo_operation says them where what was changed since is left alone; changes: what it would note in the log, at
-- most p_limit; more: how many are not shown. Costs what undoing costs. Security definer: the other checks the caller.
-- Errors: those of undo_operation, but for what was changed since; 22023 (limit).
create or replace function loci_api.preview_undo(p_namespace text, p_id uuid, p_limit integer default 100)
returns table (undone jsonb, skipped jsonb, conflicts jsonb, changes jsonb, more bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_done record;
    v_made record;
begin
    perform loci_internal.check_page(p_limit);
    begin
        select u.* into v_done from loci_api.undo_operation(p_namespace, p_id, true) u;
        select n.* into v_made from loci_internal.noted_changes(v_ns, v_done.operation_id, p_limit) n;
        raise exception using errcode = 'LOCI0', message = 'taken back';
    exception when sqlstate 'LOCI0' then
        null;
    end;
    undone := v_done.undone;
    skipped := v_done.skipped;
    conflicts := loci_internal.described_changes(v_ns, v_done.conflicts);
    changes := loci_internal.described_changes(v_ns, v_made.changes);
    more := v_made.more;
    return next;
end $$;
comment on function loci_api.preview_undo(text, uuid, integer) is
    'Effects of undoing an operation: it is undone, and that is taken back. Errors: 42501, P0002, 23505, 23P01, '
    '40001, 22023.';

-- Which aspects, attributes and decisions of an operation are neither as it left them nor as it found them? For an
-- attribute its statements count, not what follows from them: a later fact that superseded it is no change of it.
-- Attributes that it wrote and that are deleted by now do not matter, nor do its aspects: aspects stay. Primary keys.
create or replace function loci_internal.attributes_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n
    cross join lateral (select x as row from loci_data.attributes x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.after) a
    cross join lateral jsonb_populate_record(t.row, n.before) b
    where n.after is not null and not (n.created and (t.row).status = 'deleted')
      and (a.aspect_id, a.confidence, a.importance, a.valid_from, a.stated_to, a.ended_at, a.taken_back_at)
          is distinct from ((t.row).aspect_id, (t.row).confidence, (t.row).importance, (t.row).valid_from,
                            (t.row).stated_to, (t.row).ended_at, (t.row).taken_back_at)
      and (n.created or (b.aspect_id, b.confidence, b.importance, b.valid_from, b.stated_to, b.ended_at,
                         b.taken_back_at)
          is distinct from ((t.row).aspect_id, (t.row).confidence, (t.row).importance, (t.row).valid_from,
                            (t.row).stated_to, (t.row).ended_at, (t.row).taken_back_at))
    union all
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'aspect') n
    cross join lateral (select x as row from loci_data.aspects x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.after) a
    cross join lateral jsonb_populate_record(t.row, n.before) b
    where not n.created and n.after is not null
      and (a.weight, a.single_valued) is distinct from ((t.row).weight, (t.row).single_valued)
      and (b.weight, b.single_valued) is distinct from ((t.row).weight, (t.row).single_valued)
    union all
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n
    cross join lateral (select x.status from loci_data.supersessions x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id and x.ended_at is null limit 1) s
    where s.status <> n.after ->> 'status' and s.status <> coalesce(n.before ->> 'status', 'undone')
$$;
comment on function loci_internal.attributes_changed_since(integer, uuid) is
    'Aspects, attributes and supersessions of an operation that were changed since.';

-- Which kinds of things did an operation change? {kinds: {kind: count}}; erased: kinds of which it deleted something
-- for good; swept: true where some of its changes are not kept any more. Index changes_operation.
create or replace function loci_internal.changed_kinds(p_namespace_id integer, p_operation uuid) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.kind, x.action, sum(x.count) as count, sum(x.moved) as moved from (
            select c.kind, c.action, count(*) as count, count(*) as moved from loci_data.changes c
            where c.namespace_id = p_namespace_id and c.operation_id = p_operation group by c.kind, c.action
            union all
            select o.kind, o.action, count(*), 0 from loci_data.outbox o
            where o.namespace_id = p_namespace_id and o.operation_id = p_operation group by o.kind, o.action) x
        group by x.kind, x.action
    )
    select jsonb_strip_nulls(jsonb_build_object(
        'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}')
                  from (select n.kind, sum(n.count) as count from noted n group by n.kind) k),
        'erased', (select string_agg(n.kind, ', ' order by n.kind) from noted n
                   where n.action = 'erased' and n.kind <> all ('{turn,working_memory,key,grant,invitation}')),
        'swept', (select true where (select coalesce(sum(t.count), 0) from loci_data.operation_counts t
                                     where t.namespace_id = p_namespace_id and t.operation_id = p_operation)
                                    > (select coalesce(sum(n.moved), 0) from noted n))))
$$;
comment on function loci_internal.changed_kinds(integer, uuid) is
    'Kinds of things that an operation changed.';
