-- Walk arm of a recall.

-- The walk as an arm of recall: the memories behind what is most worth knowing of the entities that a question names
-- (p_named), of the pinned ones, and of those that the strongest edges of the named ones lead to; and the constraints
-- of the named and the pinned, which surface whatever is found. Score of a memory: the best of importance × weight of
-- the aspect (constraints: 1) × strength of the edge; × 1/2 where only a pin leads to it. path: entity, aspect and text
-- of that best. Filters and both times apply before the limit. Without p_arm only constraints. Bounded like walk, by
-- settings walk_ms; timed_out says that something was cut off. Cost: one look-up where the namespace has no aspects.
-- Security definer, as walk. Errors: 42501, P0002, 22023.
create or replace function loci_api.recall_walk_arm(
    p_namespace text, p_named uuid[], p_arm boolean, p_filter jsonb default '{}', p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (doc_ids bigint[], scores double precision[], paths jsonb, constraints json, timed_out boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set work_mem = '32MB'  -- sorts what was collected, without files
as $$
declare
    v_started  timestamptz := clock_timestamp();
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb;
    v_budget   interval;
    v_filter   loci_internal.memory_filter;
    v_named    uuid[];
    v_focal    uuid[];
    v_near     uuid[] := '{}';
    v_shares   double precision[] := '{}';  -- of v_near
begin
    if not exists (select from loci_data.aspects a where a.namespace_id = v_ns) then
        return;
    end if;
    v_settings := loci_internal.settings(v_ns);
    select array_agg(f.id order by f.ordinal) filter (where f.source <> 'pinned'), array_agg(f.id order by f.ordinal)
    into v_named, v_focal
    from loci_internal.resolve_focal_entities(v_ns, null, null, p_named[:(v_settings ->> 'focal_entities')::integer],
                                              coalesce(p_known_at, 'infinity')) f;
    if v_focal is null then
        return;
    end if;
    v_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_budget := (v_settings ->> 'walk_ms')::double precision * interval '1 millisecond';
    if p_arm then
        select array_agg(e.id), array_agg(e.share), bool_or(e.late) into v_near, v_shares, timed_out
        from loci_internal.walk_edges(v_ns, coalesce(v_named, '{}'), v_filter.as_of, coalesce(p_known_at, 'infinity'),
                                      v_started + 0.15 * v_budget) e
        where e.id is not null;
    end if;
    select r.* into doc_ids, scores, paths, constraints, timed_out
    from loci_internal.rank_walked(v_ns, p_arm, v_focal, v_named, v_near, v_shares, v_filter, v_started, v_budget,
                                   (v_settings ->> 'depth')::integer, timed_out) r;
    return next;
end $$;
comment on function loci_api.recall_walk_arm(text, uuid[], boolean, jsonb, timestamptz, timestamptz) is
    'Arm of recall over aspects and attributes of the named and pinned entities, and their constraints; no row where '
    'there is nothing to walk. Errors: 42501, P0002, 22023.';

-- The last step of recall_walk_arm: attributes and constraints of entities, in memories best first. p_focal: entities
-- that the question names (p_named) and pinned ones; p_near, p_shares: those that edges lead to, and what they count;
-- p_late: something was cut off before.
create or replace function loci_internal.rank_walked(
    p_namespace_id integer, p_arm boolean, p_focal uuid[], p_named uuid[], p_near uuid[], p_shares double precision[],
    p_filter loci_internal.memory_filter, p_started timestamptz, p_budget interval, p_limit integer, p_late boolean,
    out doc_ids bigint[], out scores double precision[], out paths jsonb, out constraints json, out timed_out boolean)
language plpgsql stable
as $$
begin
    with entity as materialized (
        select u.id, max(u.share) as share
        from (select f.id, case when f.id = any (p_named) then 1.0 else 0.5 end::double precision as share
              from unnest(p_focal) f(id)
              union all select n.* from unnest(p_near, p_shares) n) u group by u.id
    ), found as materialized (
        select a.* from loci_internal.walk_attributes(
            p_namespace_id, case when p_arm then p_focal || array(select n.id from unnest(p_near) n(id)
                                                        where n.id <> all (p_focal)) else '{}' end,
            p_filter, p_started + 0.3 * p_budget) a
    ), rule as materialized (  -- after the attributes: the time that those need is known then
        select c.* from (select count(*) from found) f(n)
        cross join lateral loci_internal.walk_constraints(p_namespace_id, p_focal, p_filter,
                                                          p_started + 0.45 * p_budget + f.n * interval '0') c
    ), held as (
        select r.id, r.entity_id, r.entity, r.aspect_id, r.aspect, r.content, r.importance, r.confidence, r.memory_id
        from rule r where r.id is not null order by r.importance desc, r.id desc
    ), item as (
        select f.doc_id, f.entity_id, f.aspect, f.content, f.importance * f.weight * e.share as score
        from found f join entity e on e.id = f.entity_id where f.doc_id is not null
        union all
        select r.doc_id, r.entity_id, r.aspect, r.content, r.importance * e.share
        from rule r join entity e on e.id = r.entity_id where r.doc_id is not null and p_arm
    ), best as (
        select b.* from (select distinct on (i.doc_id) i.* from item i order by i.doc_id, i.score desc, i.entity_id,
                         i.aspect, i.content) b
        order by b.score desc, b.doc_id limit p_limit
    )
    select (select array_agg(b.doc_id order by b.score desc, b.doc_id) from best b),
           (select array_agg(b.score order by b.score desc, b.doc_id) from best b),
           (select jsonb_agg(jsonb_build_object('path', array[n.name, b.aspect, left(b.content, 200)])
                             order by b.score desc, b.doc_id)
            from best b cross join lateral (select o.name from loci_data.entities o
                                            where o.namespace_id = p_namespace_id and o.id = b.entity_id limit 1) n),
           (select json_agg(h) from held h),
           coalesce(p_late, false) or cardinality(p_focal) > 10000 or exists (select from rule r where r.id is null)
           or exists (select from found f where f.aspect_id is null)
    into doc_ids, scores, paths, constraints, timed_out;
end $$;
comment on function loci_internal.rank_walked(
    integer, boolean, uuid[], uuid[], uuid[], double precision[], loci_internal.memory_filter, timestamptz, interval,
    integer, boolean) is
    'Memories behind attributes and constraints of entities, best first, and the constraints.';
