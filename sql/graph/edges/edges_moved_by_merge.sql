-- Where is what a merge moved? For undoing it: each edge that it closed (old_id), every edge that has some of its
-- evidence by now (at_id; found by following edge_moves, so that other merges, done or undone meanwhile, do not
-- matter), and whether that one is believed.
--   back   observations that go back with it
--   gone   those that at_id loses by it
--   base_id  which edge says what it says: itself, unless others were given a part of it since
--   own_id   the kept entity's own edge that it met
-- An observation is known by its origin. One by a memory that also said the kept entity's own edge is there once: it
-- stays, and goes back too. An edge that another merge has closed as a loop is shut: what comes back is taken from it,
-- and it stays closed. Fields of an edge between the two entities that nobody has been given since stay at the edge
-- itself.
create or replace function loci_internal.edges_moved_by_merge(p_namespace_id integer, p_merge_id uuid)
returns table (old_id uuid, at_id uuid, base_id uuid, own_id uuid, believed boolean, back uuid[], gone uuid[])
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with recursive start as materialized (
        select m.old_id, m.new_id, m.part from loci_data.edge_moves m
        where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id and m.part in ('moved', 'loop')
    ), later as (
        select s.old_id, case s.part when 'loop' then s.old_id else s.new_id end as id from start s
        union
        select l.old_id, m.new_id from later l
        join loci_data.edge_moves m on m.namespace_id = p_namespace_id and m.old_id = l.id and m.part <> 'loop'
    ), place as materialized (
        select l.old_id, e.id, e.superseded_at is null as believed
        from later l
        cross join lateral (select i.id, i.superseded_at from loci_data.edges i where i.namespace_id = p_namespace_id
                            and i.id = l.id limit 1) e
        where e.superseded_at is null or exists (
              select from loci_data.edge_moves m join loci_data.entity_merges g on g.namespace_id = p_namespace_id
                  and g.id = m.merge_id
              where m.namespace_id = p_namespace_id and m.old_id = l.id and m.part = 'loop'
                and m.merge_id <> p_merge_id and g.undone_at is null)
    ), met as materialized (
        select s.old_id, j.old_id as own_id from start s
        join loci_data.edge_moves j on j.namespace_id = p_namespace_id and j.merge_id = p_merge_id
             and j.new_id = s.new_id and j.part = 'joined'
    ), own as materialized (  -- evidence that the kept entity's edges had themselves
        select m.old_id, coalesce(o.origin_id, o.id) as origin
        from met m
        cross join lateral (select v.id, v.origin_id from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = m.own_id offset 0) o
    ), matched as (
        select p.old_id, p.id, c.id as there_id, o.id as here_id, coalesce(o.origin_id, o.id) <>
            coalesce(c.origin_id, c.id) as stays
        from place p
        cross join lateral (select v.* from loci_data.edge_observations v where v.namespace_id = p_namespace_id
                            and v.edge_id = p.old_id offset 0) o
        cross join lateral (select v.* from loci_data.edge_observations v where v.namespace_id = p_namespace_id
                            and v.edge_id = p.id offset 0) c
        where coalesce(c.origin_id, c.id) = coalesce(o.origin_id, o.id)
           or c.memory_id = o.memory_id
           and exists (select from own w where w.old_id = p.old_id and w.origin = coalesce(c.origin_id, c.id))
    ), found as (
        select p.old_id, p.id, p.believed, array_agg(distinct case when m.stays then m.here_id else m.there_id end)
            filter (where m.here_id is not null) as back,
               array_agg(distinct m.there_id) filter (where not m.stays) as gone
        from place p left join matched m on m.old_id = p.old_id and m.id = p.id group by p.old_id, p.id, p.believed
    ), left_over as (  -- of an edge between the two: what none that came from it was given
        select s.old_id, (select array_agg(o.id) from loci_data.edge_observations o
                          where o.namespace_id = p_namespace_id and o.edge_id = s.old_id and not exists (
                                select from later l join loci_data.edge_observations c
                                    on c.namespace_id = p_namespace_id and c.edge_id = l.id
                                where l.old_id = s.old_id and l.id <> s.old_id and c.origin_id =
                                    coalesce(o.origin_id, o.id))) as ids,
               exists (select from later l where l.old_id = s.old_id and l.id <> s.old_id) as given
        from start s where s.part = 'loop'
    )
    select f.old_id, f.id, case when cardinality(f.back) = (select count(*) from loci_data.edge_observations o
                                                            where o.namespace_id = p_namespace_id
                                                              and o.edge_id = f.old_id) then f.old_id else f.id end,
           m.own_id, f.believed, f.back, f.gone from found f left join met m on m.old_id = f.old_id
               where f.back is not null
    union all
    -- without any evidence
    (select distinct on (f.old_id) f.old_id, f.id, f.old_id, null::uuid, f.believed, null::uuid[], null::uuid[]
     from found f
     where not exists (select from found b where b.old_id = f.old_id and b.back is not null) order by f.old_id, f.id)
    union all
    select o.old_id, o.old_id, coalesce((select j.old_id from loci_data.edge_moves j
                                         join loci_data.entity_merges g on g.namespace_id = p_namespace_id
                                              and g.id = j.merge_id
                                         where o.given and j.namespace_id = p_namespace_id and j.new_id = o.old_id
                                           and j.part = 'joined'
                                           and g.undone_at is not null order by j.old_id limit 1), o.old_id), null,
                                               false, o.ids, null
    from left_over o where o.ids is not null or not o.given
$$;
comment on function loci_internal.edges_moved_by_merge(integer, uuid) is
    'Where what a merge moved is by now: edges, and the observations that go back.';
