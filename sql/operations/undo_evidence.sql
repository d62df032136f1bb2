-- Edges as undoing an operation leaves them, for record_edges: rows {id, source_id, target_id, base, evidence,
-- replaces}. Its own observations go. An edge that it took back (p_lost) comes back from what it was; one that it
-- observed, or recorded in place of another (p_made, with p_present: what it is now), is recorded anew with the
-- evidence that others gave, if there is any. An observation is known by its origin. Index edge_observations_operation.
create or replace function loci_internal.undo_evidence(p_namespace_id integer, p_operation uuid, p_made uuid[],
                                                       p_present uuid[], p_lost uuid[])
returns table (id uuid, source_id uuid, target_id uuid, base uuid[], evidence uuid[], replaces uuid)
language sql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
    with shown as materialized (
        select distinct o.edge_id as id from loci_data.edge_observations o
        cross join lateral (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = o.edge_id
                            and e.superseded_at is null limit 1) e
        where o.namespace_id = p_namespace_id and o.operation_id = p_operation
    ), given as materialized (  -- what was copied to an edge when it was recorded goes with it
        select m.present, o.origin_id as origin
        from unnest(p_made, p_present) m(id, present)
        cross join lateral (select v.origin_id from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = m.id
                              and v.origin_id is not null offset 0) o
        where m.present is not null
    ), kept as (
        select s.id as edge_id, o.id, coalesce(o.origin_id, o.id) as origin, o.recorded_at
        from (select s.id from shown s union select u.id from unnest(p_present) u(id) where u.id is not null) s
        cross join lateral (select v.* from loci_data.edge_observations v where v.namespace_id = p_namespace_id
                            and v.edge_id = s.id offset 0) o
        where o.operation_id is distinct from p_operation
          and (s.id in (select h.id from shown h)
               or (s.id, coalesce(o.origin_id, o.id)) not in (select g.present, g.origin from given g))
    ), back as (
        select l.id as edge_id, o.id, coalesce(o.origin_id, o.id) as origin, o.recorded_at
        from unnest(p_lost) l(id)
        cross join lateral (select v.* from loci_data.edge_observations v where v.namespace_id = p_namespace_id
                            and v.edge_id = l.id offset 0) o
        where o.operation_id is distinct from p_operation
    ), stands as (  -- edges that stand after it: those that come back, and those that keep evidence
        select u.id, true as lost from unnest(p_lost) u(id) union select k.edge_id, false from kept k
    ), placed as (
        select s.id, s.lost, e.type, e.literal,
               loci_internal.surviving_entity_id(p_namespace_id, e.source_id) as source_id,
               loci_internal.surviving_entity_id(p_namespace_id, e.target_id) as target_id, e.target_id is null
                   or e.target_id = e.source_id as plain
        from stands s
        cross join lateral (select x.* from loci_data.edges x where x.namespace_id = p_namespace_id
                            and x.id = s.id limit 1) e
    )
    select loci_api.uuid7(), t.source_id, t.target_id, t.base, v.ids, t.replaces
    from (select p.source_id, p.type, p.target_id, p.literal, array_agg(p.id) as all_ids,
                 (array_agg(p.id) filter (where not p.lost))[1] as replaces,
                 array[(array_agg(p.id order by p.lost desc, p.id))[1]] as base
          from placed p where p.source_id is not null and (p.plain or p.target_id <> p.source_id)
          group by p.source_id, p.type, p.target_id, p.literal) t
    left join lateral (
        select array_agg(d.id order by d.recorded_at, d.id) as ids
        from (select distinct on (x.origin) x.id, x.recorded_at
              from (select * from back union all select * from kept) x where x.edge_id = any (t.all_ids)
              order by x.origin, x.id) d) v on true
    order by t.base
$$;
comment on function loci_internal.undo_evidence(integer, uuid, uuid[], uuid[], uuid[]) is
    'Edges to record anew when an operation is undone.';
