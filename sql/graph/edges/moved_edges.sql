-- Edges that a merge has moved: where they are by now, and what stays when it is undone.

-- Where is what a merge moved? For undoing it: each edge that it closed (old_id), every edge that has some of its
-- evidence by now (at_id; see find_moved_edges), and whether that one is believed.
--   back   observations that go back with it
--   gone   those that at_id loses by it
--   base_id  which edge says what it says: itself, unless others were given a part of it since
--   own_id   the kept entity's own edge that it met
-- An observation is known by its origin. If a memory stated the kept entity's own edge as well, its observation exists
-- once: it stays, and goes back too. Fields of an edge between the two entities that nobody has been given since stay
-- at the edge itself (leftovers_of_loops).
create or replace function loci_internal.edges_moved_by_merge(p_namespace_id integer, p_merge_id uuid)
returns table (old_id uuid, at_id uuid, base_id uuid, own_id uuid, believed boolean, back uuid[], gone uuid[])
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with place as materialized (
        select p.* from loci_internal.find_moved_edges(p_namespace_id, p_merge_id) p
    ), met as materialized (
        select s.old_id, j.old_id as own_id from loci_data.edge_moves s
        join loci_data.edge_moves j on j.namespace_id = p_namespace_id and j.merge_id = p_merge_id
             and j.new_id = s.new_id and j.part = 'joined'
        where s.namespace_id = p_namespace_id and s.merge_id = p_merge_id and s.part in ('moved', 'loop')
    ), own as materialized (  -- evidence that the kept entity's edges had themselves
        select m.old_id, coalesce(o.origin_id, o.id) as origin
        from met m
        cross join lateral (select v.id, v.origin_id from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = m.own_id offset 0) o
    ), matched as (
        select p.old_id, p.id, c.id as there_id, o.id as here_id,
               coalesce(o.origin_id, o.id) <> coalesce(c.origin_id, c.id) as stays
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
    )
    select f.old_id, f.id,
           case when cardinality(f.back) = (select count(*) from loci_data.edge_observations o
                                            where o.namespace_id = p_namespace_id and o.edge_id = f.old_id)
                then f.old_id else f.id end,
           m.own_id, f.believed, f.back, f.gone
    from found f left join met m on m.old_id = f.old_id where f.back is not null
    union all
    -- without any evidence
    (select distinct on (f.old_id) f.old_id, f.id, f.old_id, null::uuid, f.believed, null::uuid[], null::uuid[]
     from found f
     where not exists (select from found b where b.old_id = f.old_id and b.back is not null) order by f.old_id, f.id)
    union all
    select o.old_id, o.old_id, o.base_id, null, false, o.ids, null
    from loci_internal.leftovers_of_loops(p_namespace_id, p_merge_id) o
$$;
comment on function loci_internal.edges_moved_by_merge(integer, uuid) is
    'Where what a merge moved is by now: edges, and the observations that go back.';

-- Which edges have something of those that a merge moved? Believed ones, and those that another merge has closed as
-- loops: what comes back is taken from such a one, and it stays closed. Inlines.
create or replace function loci_internal.find_moved_edges(p_namespace_id integer, p_merge_id uuid)
returns table (old_id uuid, id uuid, believed boolean)
language sql stable
as $$
    select l.old_id, e.id, e.superseded_at is null
    from loci_internal.follow_moved_edges(p_namespace_id, p_merge_id) l
    cross join lateral (select i.id, i.superseded_at from loci_data.edges i where i.namespace_id = p_namespace_id
                        and i.id = l.id limit 1) e
    where e.superseded_at is null or exists (
          select from loci_data.edge_moves m join loci_data.entity_merges g on g.namespace_id = p_namespace_id
              and g.id = m.merge_id
          where m.namespace_id = p_namespace_id and m.old_id = l.id and m.part = 'loop'
            and m.merge_id <> p_merge_id and g.undone_at is null)
$$;
comment on function loci_internal.find_moved_edges(integer, uuid) is
    'Edges that have something of those that a merge moved.';

-- What have the edges of a merge become? id: every edge that old_id has become since, by this merge and by others, done
-- or undone; of one that was closed as a loop, itself too. Inlines.
create or replace function loci_internal.follow_moved_edges(p_namespace_id integer, p_merge_id uuid)
returns table (old_id uuid, id uuid)
language sql stable
as $$
    with recursive later as (
        select s.old_id, case s.part when 'loop' then s.old_id else s.new_id end as id from loci_data.edge_moves s
        where s.namespace_id = p_namespace_id and s.merge_id = p_merge_id and s.part in ('moved', 'loop')
        union
        select l.old_id, m.new_id from later l
        join loci_data.edge_moves m on m.namespace_id = p_namespace_id and m.old_id = l.id and m.part <> 'loop'
    )
    select l.old_id, l.id from later l
$$;
comment on function loci_internal.follow_moved_edges(integer, uuid) is
    'Edges that those of a merge have become since.';

-- Edges between the two entities of a merge, which it closed as loops: the observations that no edge that came of one
-- was given (ids), and which edge says what it says (base_id). No row: all was given on. Inlines.
create or replace function loci_internal.leftovers_of_loops(p_namespace_id integer, p_merge_id uuid)
returns table (old_id uuid, base_id uuid, ids uuid[])
language sql stable
as $$
    with later as materialized (
        select f.* from loci_internal.follow_moved_edges(p_namespace_id, p_merge_id) f where f.id <> f.old_id
    ), left_over as (
        select s.old_id, (select array_agg(o.id) from loci_data.edge_observations o
                          where o.namespace_id = p_namespace_id and o.edge_id = s.old_id and not exists (
                                select from later l
                                join loci_data.edge_observations c on c.namespace_id = p_namespace_id
                                     and c.edge_id = l.id
                                where l.old_id = s.old_id and c.origin_id = coalesce(o.origin_id, o.id))) as ids,
               exists (select from later l where l.old_id = s.old_id) as given
        from loci_data.edge_moves s
        where s.namespace_id = p_namespace_id and s.merge_id = p_merge_id and s.part = 'loop'
    )
    select o.old_id, coalesce((select j.old_id from loci_data.edge_moves j
                               join loci_data.entity_merges g on g.namespace_id = p_namespace_id and g.id = j.merge_id
                               where o.given and j.namespace_id = p_namespace_id and j.new_id = o.old_id
                                 and j.part = 'joined' and g.undone_at is not null
                               order by j.old_id limit 1), o.old_id),
           o.ids
    from left_over o where o.ids is not null or not o.given
$$;
comment on function loci_internal.leftovers_of_loops(integer, uuid) is
    'What is left of edges that a merge closed because they would be loops.';

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
