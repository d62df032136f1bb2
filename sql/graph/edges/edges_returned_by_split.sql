-- The edges that undoing a merge gives back, for record_edges: the end that was the merged entity is it again, the
-- other end is where the edge has it by now. Two that have met meanwhile are one. p_found: rows of
-- edges_moved_by_merge.
create or replace function loci_internal.edges_returned_by_split(p_namespace_id integer, p_found jsonb, p_merged uuid)
returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with found as materialized (
        select f.*, case when e.source_id = p_merged then p_merged
            else loci_internal.surviving_entity_id(p_namespace_id, n.source_id) end as source_id,
               e.type, case when e.target_id = p_merged then p_merged
                   else loci_internal.surviving_entity_id(p_namespace_id, n.target_id) end as target_id, e.literal
        from jsonb_to_recordset(p_found) f(old_id uuid, at_id uuid, base_id uuid, believed boolean, back uuid[])
        join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = f.old_id
        join loci_data.edges n on n.namespace_id = p_namespace_id and n.id = f.at_id
    ), shown as (
        select f.source_id, f.type, f.target_id, f.literal, array_agg(distinct b) as ids
        from found f cross join lateral unnest(f.back) b group by f.source_id, f.type, f.target_id, f.literal
    ), gathered as (
        select f.source_id, f.type, f.target_id, f.literal, array_agg(distinct f.base_id) as base,
               array_agg(distinct f.at_id) as replaces,
               (array_agg(f.at_id order by f.at_id) filter (where f.believed))[1] as ended_as
        from found f group by f.source_id, f.type, f.target_id, f.literal
    )
    select coalesce(
        jsonb_agg(jsonb_build_object('id', g.id, 'source_id', g.source_id, 'target_id', g.target_id, 'base', g.base,
                                                 'evidence', s.ids, 'ended_as', g.ended_as, 'replaces', g.replaces)),
                                                 '[]')
    from (select loci_api.uuid7() as id, o.* from (select * from gathered order by base) o) g
    left join shown s on s.source_id = g.source_id and s.type = g.type and s.target_id is not distinct from g.target_id
         and s.literal is not distinct from g.literal
$$;
comment on function loci_internal.edges_returned_by_split(integer, jsonb, uuid) is
    'Edges to record when a merge is undone, at the merged entity.';
