-- Edges that a merge or a split moves.

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

-- Give edges of one entity to another: those believed now (p_ids: only these). Each is closed and recorded anew with
-- the other end, at one moment, so that known_at before it still shows them as they were. Where the other has an edge
-- of the same type and target, the two become one, with the evidence of both. An edge between the two would lead from
-- an entity to itself: it is only closed. edge_moves says what each edge became. Edges are locked in order of id;
-- both entities are the caller's. Returns how many moved.
create or replace function loci_internal.move_edges(p_namespace_id integer, p_merge_id uuid, p_from uuid, p_to uuid,
                                                    p_ids uuid[], p_at timestamptz)
returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_ids   uuid[];
    v_moved integer;
    v_gone  uuid[];
    v_plan  jsonb;
begin
    v_ids := loci_internal.find_edges_to_move(p_namespace_id, p_from, p_to, p_ids);
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id for update;

    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select p_namespace_id, p_merge_id, x.id, m.new_id, x.part
    from (select loci_api.uuid7() as new_id, e.id, e.loop, e.met
          from (select i.id, (i.source_id, i.target_id) in ((p_from, p_to), (p_to, p_from)) as loop,
                       loci_internal.find_edge_id(p_namespace_id, case when i.source_id = p_from then p_to
                                                  else i.source_id end, i.type,
                                    case when i.target_id = p_from then p_to else i.target_id end, i.literal) as met
                from loci_data.edges i
                where i.namespace_id = p_namespace_id and i.id = any(v_ids) and i.superseded_at is null
                  and p_from in (i.source_id, i.target_id) order by i.id) e) m
    cross join lateral (values (m.id, case when m.loop then 'loop' else 'moved' end),
                        (case when not m.loop then m.met end, 'joined')) x(id, part)
    where x.id is not null;
    select count(*) filter (where m.part <> 'joined') into v_moved
    from loci_data.edge_moves m where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id
        and m.part <> 'undone';

    v_plan := loci_internal.plan_moved_edges(p_namespace_id, p_merge_id, p_from, p_to);
    v_gone := array(select m.old_id from loci_data.edge_moves m
                    where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id);
    perform loci_internal.close_edges(p_namespace_id, v_gone, p_at);
    perform loci_internal.record_edges(p_namespace_id, v_plan, v_gone, p_at);
    return v_moved;
end $$;
comment on function loci_internal.move_edges(integer, uuid, uuid, uuid, uuid[], timestamptz) is
    'Record the edges of an entity anew on another; how many.';

-- Edges of p_from that are believed now (p_ids: only these), and those of p_to that they meet when they move there.
create or replace function loci_internal.find_edges_to_move(p_namespace_id integer, p_from uuid, p_to uuid,
                                                            p_ids uuid[]) returns uuid[]
language plpgsql stable set search_path = ''
as $$
declare
    v_ids uuid[];
begin
    v_ids := array(
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.source_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids))
        union
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.target_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids)));
    return v_ids || array(  -- those that they meet
        select loci_internal.find_edge_id(p_namespace_id, case when e.source_id = p_from then p_to
                                          else e.source_id end, e.type,
                            case when e.target_id = p_from then p_to else e.target_id end, e.literal)
        from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids));
end $$;
comment on function loci_internal.find_edges_to_move(integer, uuid, uuid, uuid[]) is
    'Edges of an entity, and those of another that they meet there.';

-- Edges as they are recorded anew by a merge that moves them from p_from to p_to, for record_edges, by what edge_moves
-- says of it: with the evidence of all that are one by it.
create or replace function loci_internal.plan_moved_edges(p_namespace_id integer, p_merge_id uuid, p_from uuid,
                                                          p_to uuid) returns jsonb
language plpgsql stable set search_path = ''
as $$
begin
    return (
    with part as materialized (
        select m.new_id, m.old_id, m.part from loci_data.edge_moves m
        where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id and m.part in ('moved', 'joined')
    ), shown as (
        select p.new_id, array_agg(o.id order by p.part, o.recorded_at, o.id) as ids
        from part p
        cross join lateral (select v.id, v.recorded_at from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = p.old_id offset 0) o
        group by p.new_id
    ), ends as (
        select p.new_id, (array_agg(case when e.source_id = p_from then p_to else e.source_id end))[1] as source_id,
               (array_agg(case when e.target_id = p_from then p_to else e.target_id end))[1] as target_id,
               array_agg(p.old_id order by p.part) as base
        from part p
        cross join lateral (select i.source_id, i.target_id from loci_data.edges i
                            where i.namespace_id = p_namespace_id and i.id = p.old_id limit 1) e
        group by p.new_id
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', e.new_id, 'source_id', e.source_id, 'target_id', e.target_id,
                                                 'base', e.base, 'evidence', s.ids)), '[]')
    from ends e left join shown s using (new_id));
end $$;
comment on function loci_internal.plan_moved_edges(integer, uuid, uuid, uuid) is
    'Edges to record when those of an entity are moved to another.';
