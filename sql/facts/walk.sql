-- What must an agent know that talks about this? From the focal entities, and over their strongest edges
-- one hop further, each entity once: the heaviest aspects and their most important attributes; all constraints; and the
-- memories behind them that are visible. Settings walk_* are the bounds. walk_ms is a hard one: edges, attributes and
-- constraints each have a share of it, so that none starves the others, and the other half is for putting the answer
-- together; timed_out says that something was cut off. source: what gave the focal entities (focal_entities); null:
-- nothing did. memory_ids: best first, by importance × weight of the aspect (for constraints 1) × strength of the edge.
-- attributes: on request. As of p_as_of, as known at p_known_at (null: now, as believed now); names, weights and
-- strengths are present figures. bench/walk.py measures it. Security definer: past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci.walk(
    p_namespace text, p_query text default null, p_project_path text default null, p_checkpoint uuid[] default null,
    p_session_key text default null, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_attributes boolean default false)
returns table (focal json, source text, memory_ids uuid[], constraints json, attributes json, entity_count integer,
               aspect_ids uuid[],
               timed_out boolean, took_ms double precision)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set work_mem = '32MB'  -- sorts what was collected, without files
as $$
declare
    v_started timestamptz := clock_timestamp();
    v_ns      integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter  loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_budget  interval := (loci_internal.settings(v_ns) ->> 'walk_ms')::double precision * interval '1 millisecond';
    v_focal   uuid[];
    v_ids     uuid[];
    v_shares  double precision[];
    v_found   record;
    v_rules   record;
begin
    select coalesce(array_agg(f.id order by f.ordinal) filter (where f.id is not null), '{}'),
           max(f.source) filter (where f.source <> 'pinned'), count(*) filter (where f.pinned) >= 10000,
           coalesce(
               json_agg(json_build_object('id', f.id, 'name', f.name, 'type', f.type, 'pinned', f.pinned,
                                          'source', f.source)
                             order by f.ordinal), '[]')
    into v_focal, source, timed_out, focal
    from loci.focal_entities(p_namespace, p_query, p_project_path, p_checkpoint, p_session_key, p_known_at) f;

    select v_focal || coalesce(array_agg(e.id order by e.share desc, e.id) filter (where e.id is not null), '{}'),
           array_fill(1.0::double precision, array[cardinality(v_focal)])
           || coalesce(array_agg(e.share order by e.share desc, e.id) filter (where e.id is not null), '{}'),
           timed_out or coalesce(bool_or(e.late), false)
    into v_ids, v_shares, timed_out
    from loci_internal.walk_edges(v_ns, v_focal, v_filter.as_of, coalesce(p_known_at, 'infinity'),
                                  v_started + 0.15 * v_budget) e;

    with found as materialized (
        select a.*, e.share, e.place
        from loci_internal.walk_attributes(v_ns, v_ids, v_filter, v_started + 0.3 * v_budget) a
        left join unnest(v_ids, v_shares) with ordinality e(id, share, place) on e.id = a.entity_id
    ), shown as (
        select f.id, f.entity_id, f.aspect_id, f.aspect, f.weight, f.content, f.importance, f.confidence, f.memory_id
        from found f where p_attributes and f.id is not null
        order by f.place, f.weight desc, f.aspect_id, f.importance desc, f.id desc
    )
    select array_agg(f.memory_id) filter (where f.memory_id is not null) as ids,
           array_agg(f.importance * f.weight * f.share) filter (where f.memory_id is not null) as scores,
           array(select f.aspect_id from found f where f.aspect_id is not null
                 group by f.aspect_id, f.weight order by f.weight desc, f.aspect_id desc) as aspects,
           (select json_agg(s) from shown s) as items, bool_or(f.aspect_id is null) as late
    into v_found from found f;

    with rule as materialized (
        select c.*, e.share
        from loci_internal.walk_constraints(v_ns, v_ids, v_filter, v_started + 0.45 * v_budget) c
        left join unnest(v_ids, v_shares) e(id, share) on e.id = c.entity_id
    ), shown as (
        select r.id, r.entity_id, r.entity, r.aspect_id, r.aspect, r.content, r.importance, r.confidence, r.memory_id
        from rule r where r.id is not null order by r.importance desc, r.id desc
    )
    select array_agg(r.memory_id) filter (where r.memory_id is not null) as ids,
           array_agg(r.importance * r.share) filter (where r.memory_id is not null) as scores,
           (select json_agg(s) from shown s) as items, bool_or(r.id is null) as late
    into v_rules from rule r;

    memory_ids := array(select u.id
                        from unnest(v_found.ids || v_rules.ids, v_found.scores || v_rules.scores) u(id, score)
                        group by u.id order by max(u.score) desc, u.id);
    constraints := coalesce(v_rules.items, '[]');
    attributes := coalesce(v_found.items, '[]');
    entity_count := cardinality(v_ids);
    aspect_ids := v_found.aspects;
    timed_out := timed_out or coalesce(v_found.late, false) or coalesce(v_rules.late, false);
    took_ms := 1000 * extract(epoch from clock_timestamp() - v_started);
    return next;
end $$;
comment on function loci.walk(text, text, text, uuid[], text, timestamptz, timestamptz, boolean) is
    'Knowledge about the focal entities of a conversation and their neighbours: constraints, memories, aspects, '
    'within a deadline. Errors: 42501, P0002, 22023.';
