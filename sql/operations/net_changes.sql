-- Net changes of an operation: first state against last.

-- What did an operation change, all in all? One row a thing of a kind: fields as they were before the first of its
-- changes, and as they were after the last. created, erased: it did not exist before; it does not exist since. A thing
-- without an id (edge_type, namespace) has its key in after. Index changes_operation; changes that wait in the outbox
-- stand after those in the feed. About 10 µs a change.
create or replace function loci_internal.net_changes(p_namespace_id integer, p_operation uuid, p_kind text)
returns table (subject_id uuid, created boolean, erased boolean, before jsonb, after jsonb)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as (
        select 0 as place, c.position as nth, c.subject_id, c.action, c.before, c.after from loci_data.changes c
        where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = p_kind
        union all
        select 1, o.id, o.subject_id, o.action, o.before, o.after from loci_data.outbox o
        where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = p_kind
    ), gathered as (
        select n.subject_id, bool_or(n.action = 'created') as created, bool_or(n.action = 'erased') as erased,
               count(*) as times,
               array_agg(n.before order by n.place, n.nth) as befores,
               array_agg(n.after order by n.place, n.nth) as afters
        from noted n group by n.subject_id, case when p_kind = 'edge_type' then n.after ->> 'type' end
    )
    select g.subject_id, g.created, g.erased,
           case when g.times = 1 then g.befores[1] else (
               select jsonb_object_agg(f.key, f.value order by b.nth desc)
               from unnest(g.befores) with ordinality b(fields, nth) cross join lateral jsonb_each(b.fields) f) end,
           case when g.times = 1 then g.afters[1] else (
               select jsonb_object_agg(f.key, f.value order by a.nth)
               from unnest(g.afters) with ordinality a(fields, nth) cross join lateral jsonb_each(a.fields) f) end
    from gathered g
$$;
comment on function loci_internal.net_changes(integer, uuid, text) is
    'Things of a kind that an operation changed, as they were before it and after it.';

-- Which links did an operation make, and which did it end, all in all? A changed strength is one of each. Things that
-- it both made and ended do not matter. Index changes_operation; the primary key of memory_links.
create or replace function loci_internal.net_link_changes(p_namespace_id integer, p_operation uuid)
returns table (source_id uuid, target_id uuid, type text, strength double precision, gained boolean)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.action, x.subject_id as source_id, l.target_id, l.type, l.recorded_at
        from (select c.action, c.subject_id, c.after from loci_data.changes c
              where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = 'link'
                and c.after is not null
              union all
              select o.action, o.subject_id, o.after from loci_data.outbox o
              where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = 'link'
                and o.after is not null) x
        cross join lateral jsonb_populate_record(null::loci_data.memory_links, x.after) l
    ), link as (
        select n.source_id, n.target_id, n.type, n.recorded_at, bool_or(n.action = 'created') as gained
        from noted n group by n.source_id, n.target_id, n.type, n.recorded_at having count(*) = 1
    )
    select l.source_id, l.target_id, l.type, w.strength, l.gained
    from link l
    cross join lateral (select i.strength from loci_data.memory_links i where i.namespace_id = p_namespace_id
                        and i.source_id = l.source_id
                        and i.target_id = l.target_id and i.type = l.type and i.recorded_at = l.recorded_at limit 1) w
$$;
comment on function loci_internal.net_link_changes(integer, uuid) is
    'Links that an operation made and ended.';

-- Which merges and splits did an operation make (created) or undo, or take up again (was_undone_at)? Those among
-- entities that it wrote itself are lines of an import, which go with these.
create or replace function loci_internal.net_merge_changes(p_namespace_id integer, p_operation uuid)
returns table (id uuid, created boolean, was_undone_at timestamptz)
language sql stable set search_path = ''
as $$
    select n.subject_id, n.created, (n.before ->> 'undone_at')::timestamptz
    from loci_internal.net_changes(p_namespace_id, p_operation, 'merge') n
    join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = n.subject_id
    where m.kept_id not in (select e.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') e
                            where e.created)
      and not (n.created and n.after ->> 'undone_at' is not null)
$$;
comment on function loci_internal.net_merge_changes(integer, uuid) is
    'Merges and splits that an operation made or undid.';

-- Where did an operation put lineages, all in all, and where had they stood? One row a place: gained (it put the node
-- there) or not (it took it from there). Things that it both wrote and ended do not matter, nor do lineages that it
-- wrote itself: they go out of sight with their memories. Index changes_operation; primary keys.
create or replace function loci_internal.net_placement_changes(p_namespace_id integer, p_operation uuid)
returns table (node_id uuid, parent_id uuid, valid_from timestamptz, valid_to timestamptz, gained boolean)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.action, x.subject_id, p.recorded_at, p.valid_from
        from (select c.action, c.subject_id, c.after from loci_data.changes c
              where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = 'placement'
                and c.after is not null
              union all
              select o.action, o.subject_id, o.after from loci_data.outbox o
              where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = 'placement'
                and o.after is not null) x
        cross join lateral jsonb_populate_record(null::loci_data.memory_placements, x.after) p
    ), place as (
        select n.subject_id, n.recorded_at, n.valid_from, bool_or(n.action = 'created') as gained, count(*) as times
        from noted n group by n.subject_id, n.recorded_at, n.valid_from
    )
    select p.subject_id, s.parent_id, s.valid_from, s.valid_to, p.gained
    from place p
    cross join lateral (select w.* from loci_data.memory_placements w where w.namespace_id = p_namespace_id
                        and w.node_id = p.subject_id
                        and w.recorded_at = p.recorded_at and w.valid_from = p.valid_from limit 1) s
    where p.times = 1
      and p.subject_id not in (select m.subject_id
                               from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') m where m.created)
$$;
comment on function loci_internal.net_placement_changes(integer, uuid) is
    'Places in the hierarchy that an operation gave and took.';

-- Settings of the namespace, and its description, that an operation changed: each by name, as it was before, after, and
-- is now; null: not set, the default holds.
create or replace function loci_internal.net_setting_changes(p_namespace_id integer, p_operation uuid)
returns table (name text, before jsonb, after jsonb, now jsonb)
language sql stable set search_path = ''
as $$
    with net as (
        select c.before, c.after, s.settings, s.description
        from loci_internal.net_changes(p_namespace_id, p_operation, 'namespace') c
        join loci_data.namespaces s on s.id = p_namespace_id
        where c.before is not null
    )
    select k.key, n.before -> 'settings' -> k.key, n.after -> 'settings' -> k.key, n.settings -> k.key
    from net n
    cross join lateral (select jsonb_object_keys((n.before -> 'settings') || (n.after -> 'settings')) as key) k
    where n.before -> 'settings' -> k.key is distinct from n.after -> 'settings' -> k.key
    union all
    select 'description', nullif(n.before -> 'description', 'null'), nullif(n.after -> 'description', 'null'),
           to_jsonb(n.description)
    from net n where n.after ? 'description'
$$;
comment on function loci_internal.net_setting_changes(integer, uuid) is
    'Settings of the namespace that an operation changed.';

-- What has this transaction noted of an operation so far, before and after, in order? The first p_limit as JSON, what
-- is a text of its own first; more: how many others. The outbox, which is short, is read once.
create or replace function loci_internal.noted_changes(p_namespace_id integer, p_operation uuid, p_limit integer,
                                                       out changes jsonb, out more bigint)
language sql stable
as $$
    select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'action', n.action, 'subject_id', n.subject_id,
                                                 'before', n.before, 'after', n.after) order by n.nth)
                    filter (where n.nth <= p_limit), '[]'),
           greatest(count(*) - p_limit, 0)
    from (select o.*, row_number() over (order by array_position('{memory,attribute,edge,entity}', o.kind), o.id) as nth
          from loci_data.outbox o where o.namespace_id = p_namespace_id and o.operation_id = p_operation) n
$$;
comment on function loci_internal.noted_changes(integer, uuid, integer) is
    'Changes of an operation that this transaction has noted so far.';
