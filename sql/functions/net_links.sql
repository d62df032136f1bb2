-- Which links did an operation make, and which did it end, all in all? A changed strength is one of each. What it both made and ended is
-- no matter. Index changes_operation; the primary key of memory_links. Called by undo_links and changed_since; internal.
create or replace function loci.net_links(p_namespace_id integer, p_operation uuid)
returns table (source_id uuid, target_id uuid, type text, strength double precision, gained boolean)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.action, x.subject_id as source_id, l.target_id, l.type, l.recorded_at
        from (select c.action, c.subject_id, c.after from loci_data.changes c
              where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = 'link' and c.after is not null
              union all
              select o.action, o.subject_id, o.after from loci_data.outbox o
              where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = 'link' and o.after is not null) x
        cross join lateral jsonb_populate_record(null::loci_data.memory_links, x.after) l
    ), link as (
        select n.source_id, n.target_id, n.type, n.recorded_at, bool_or(n.action = 'created') as gained
        from noted n group by n.source_id, n.target_id, n.type, n.recorded_at having count(*) = 1
    )
    select l.source_id, l.target_id, l.type, w.strength, l.gained
    from link l
    cross join lateral (select i.strength from loci_data.memory_links i where i.namespace_id = p_namespace_id and i.source_id = l.source_id
                        and i.target_id = l.target_id and i.type = l.type and i.recorded_at = l.recorded_at limit 1) w
$$;
comment on function loci.net_links(integer, uuid) is 'Links that an operation made and ended. Internal.';
