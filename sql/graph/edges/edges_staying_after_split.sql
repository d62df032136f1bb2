-- The kept entity keeps, when a merge is undone, for record_edges: the evidence of each split edge that did not come
-- from the merged entity's. None of that: nothing stays, unless the kept entity had the edge itself. Where
-- nothing was written since, what it says is what the kept one's own edge said. p_found: rows of edges_moved_by_merge.
create or replace function loci_internal.edges_staying_after_split(p_namespace_id integer, p_found jsonb) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with given as materialized (  -- evidence that goes back
        select distinct f.at_id as id, g.id as gone_id
        from jsonb_to_recordset(p_found) f(at_id uuid, gone uuid[]) cross join lateral unnest(f.gone) g(id)
    ), rest as (
        select p.id, n.source_id, n.target_id, p.own_id,
               array_agg(o.id order by o.recorded_at, o.id) filter (where o.id is not null) as ids,
               coalesce(bool_or(o.origin_id is null), false)
                   or count(o.id) <> (select count(*) from loci_data.edge_observations w
                                      where w.namespace_id = p_namespace_id and w.edge_id = p.own_id) as changed
        from (select f.at_id as id, (array_agg(f.own_id) filter (where f.own_id is not null))[1] as own_id
              from jsonb_to_recordset(p_found) f(at_id uuid, own_id uuid, believed boolean) where f.believed
              group by f.at_id) p
        join loci_data.edges n on n.namespace_id = p_namespace_id and n.id = p.id
        left join loci_data.edge_observations o on o.namespace_id = p_namespace_id and o.edge_id = p.id
             and not exists (select from given g where g.id = p.id and g.gone_id = o.id)
        group by p.id, n.source_id, n.target_id, p.own_id
    )
    select coalesce(
        jsonb_agg(jsonb_build_object('id', r.id, 'source_id', r.source_id, 'target_id', r.target_id, 'evidence', r.ids,
                                                 'base', array[case when r.changed then r.old_id else
                                                               coalesce(r.own_id, r.old_id) end],
                                                 'replaces', array[r.old_id])), '[]')
    from (select loci_api.uuid7() as id, s.source_id, s.target_id, s.own_id, s.ids, s.changed, s.id as old_id
          from (select * from rest where ids is not null or own_id is not null and not exists (
                select from loci_data.edge_observations w where w.namespace_id = p_namespace_id and w.edge_id = own_id)
                order by id) s) r
$$;
comment on function loci_internal.edges_staying_after_split(integer, jsonb) is
    'Edges to record when a merge is undone, at the kept entity.';
