-- Where did an operation put lineages, all in all, and where had they stood? One row a place: gained (it put the node there) or not (it
-- took it from there). What it both wrote and ended is no matter, nor are lineages that it wrote itself: they go out of sight with
-- their memories. Index changes_operation; primary keys. Called by undo_places and changed_since; internal.
create or replace function loci.net_places(p_namespace_id integer, p_operation uuid)
returns table (node_id uuid, parent_id uuid, valid_from timestamptz, valid_to timestamptz, gained boolean)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.action, x.subject_id, p.recorded_at, p.valid_from
        from (select c.action, c.subject_id, c.after from loci_data.changes c
              where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = 'placement' and c.after is not null
              union all
              select o.action, o.subject_id, o.after from loci_data.outbox o
              where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = 'placement' and o.after is not null) x
        cross join lateral jsonb_populate_record(null::loci_data.memory_placements, x.after) p
    ), place as (
        select n.subject_id, n.recorded_at, n.valid_from, bool_or(n.action = 'created') as gained, count(*) as times
        from noted n group by n.subject_id, n.recorded_at, n.valid_from
    )
    select p.subject_id, s.parent_id, s.valid_from, s.valid_to, p.gained
    from place p
    cross join lateral (select w.* from loci_data.memory_placements w where w.namespace_id = p_namespace_id and w.node_id = p.subject_id
                        and w.recorded_at = p.recorded_at and w.valid_from = p.valid_from limit 1) s
    where p.times = 1
      and p.subject_id not in (select m.subject_id from loci.net_changes(p_namespace_id, p_operation, 'memory') m where m.created)
$$;
comment on function loci.net_places(integer, uuid) is 'Places in the hierarchy that an operation gave and took. Internal.';
