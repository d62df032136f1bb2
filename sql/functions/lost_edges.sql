-- Which edges did entities lose because an end of them was removed, and may have back? JSON for record_edges. Of each statement (source, type,
-- target) the one recorded last, if it was closed in the very moment in which an end was removed (entity_beliefs knows these), all ends
-- stand for themselves now, and no other edge of a single-valued type has taken its place. Index ranges of edges_source and edges_target.
-- Called by return_entities; internal.
create or replace function loci.lost_edges(p_namespace_id integer, p_ids uuid[]) returns jsonb
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with near as (
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any(p_ids)
        union all
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any(p_ids) and e.source_id <> all(p_ids)
    ), latest as materialized (
        select distinct on (n.source_id, n.type, n.target_id, n.literal) n.* from near n
        order by n.source_id, n.type, n.target_id, n.literal, n.recorded_at desc, n.id desc
    ), removal as materialized (
        select b.entity_id, b.believed_at from loci_data.entity_beliefs b
        where b.namespace_id = p_namespace_id and b.merged_into = b.entity_id and b.entity_id = any(array(
              select l.source_id from latest l where l.superseded_at is not null
              union select l.target_id from latest l where l.superseded_at is not null))
    ), lost as materialized (
        select l.id, l.source_id, l.target_id from latest l
        cross join lateral (select from loci_data.entities s
                            where s.namespace_id = p_namespace_id and s.id = l.source_id and s.merged_into is null limit 1) source
        where ((l.source_id, l.superseded_at) in (select r.entity_id, r.believed_at from removal r)
               or (l.target_id, l.superseded_at) in (select r.entity_id, r.believed_at from removal r))
          and (l.target_id is null or exists (select from loci_data.entities t
               where t.namespace_id = p_namespace_id and t.id = l.target_id and t.merged_into is null))
          and not exists (
              select from loci_data.edge_types y
              join loci_data.edges o on o.namespace_id = p_namespace_id and o.source_id = l.source_id and o.type = y.type and o.superseded_at is null
              where y.namespace_id = p_namespace_id and y.type = l.type and y.single_valued
                and o.valid_from < coalesce(l.valid_to, 'infinity') and l.valid_from < coalesce(o.valid_to, 'infinity'))
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', loci.uuid7(), 'source_id', l.source_id, 'target_id', l.target_id, 'base', array[l.id],
               'evidence', array(select o.id from loci_data.edge_observations o
                                 where o.namespace_id = p_namespace_id and o.edge_id = l.id order by o.recorded_at, o.id)) order by l.id), '[]')
    from lost l
$$;
comment on function loci.lost_edges(integer, uuid[]) is 'Edges that went when an end of them was removed, to be recorded anew. Internal.';
