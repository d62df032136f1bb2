-- Walk: what is known about focal entities.

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
               aspect_ids uuid[], timed_out boolean, took_ms double precision)
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
           coalesce(json_agg(json_build_object('id', f.id, 'name', f.name, 'type', f.type, 'pinned', f.pinned,
                                               'source', f.source) order by f.ordinal), '[]')
    into v_focal, source, timed_out, focal
    from loci.focal_entities(p_namespace, p_query, p_project_path, p_checkpoint, p_session_key, p_known_at) f;

    select v_focal || coalesce(array_agg(e.id order by e.share desc, e.id) filter (where e.id is not null), '{}'),
           array_fill(1.0::double precision, array[cardinality(v_focal)])
           || coalesce(array_agg(e.share order by e.share desc, e.id) filter (where e.id is not null), '{}'),
           timed_out or coalesce(bool_or(e.late), false)
    into v_ids, v_shares, timed_out
    from loci_internal.walk_edges(v_ns, v_focal, v_filter.as_of, coalesce(p_known_at, 'infinity'),
                                  v_started + 0.15 * v_budget) e;

    v_found := loci_internal.gather_walk_attributes(v_ns, v_ids, v_shares, v_filter, v_started + 0.3 * v_budget,
                                                    p_attributes);
    v_rules := loci_internal.gather_walk_constraints(v_ns, v_ids, v_shares, v_filter, v_started + 0.45 * v_budget);
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

-- What is most worth knowing about these entities? Of each the heaviest aspects (settings walk_aspects), and
-- of each aspect the most important attributes that hold at the times of p_filter (walk_attributes); at equal
-- importance the newest. An aspect without any is a row without an id. memory_id and doc_id: only of a memory that
-- passes p_filter. 16 entities a statement; past p_deadline every row passes, and so ends the search for one that
-- holds; a last row without an aspect says that it was cut short, there or after 20,000 rows (fifty entities have half
-- as many at most), which are as many as can be put into an answer in time. Aspects known at known_at are looked for
-- among the 1,000 heaviest. Indexes aspects_weight, attributes_importance.
create or replace function loci_internal.walk_attributes(
    p_namespace_id integer, p_ids uuid[], p_filter loci_internal.memory_filter, p_deadline timestamptz)
returns table (entity_id uuid, aspect_id uuid, aspect text, weight double precision, id uuid, content text,
               importance double precision, confidence double precision, memory_id uuid, doc_id bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings   jsonb := loci_internal.settings(p_namespace_id);
    v_aspects    integer := v_settings ->> 'walk_aspects';
    v_attributes integer := v_settings ->> 'walk_attributes';
    v_known_at   timestamptz := coalesce(p_filter.known_at, 'infinity');
    v_rows       integer := 0;
    v_step       integer;
begin
    for v_done in 0 .. cardinality(p_ids) - 1 by 16 loop
        return query
        select f.id, s.id, s.name, s.weight, t.id, t.content, t.importance, t.confidence, m.id, m.doc_id
        from unnest(p_ids[v_done + 1 : v_done + 16]) f(id)
        cross join lateral (
            select h.* from (
                select a.id, a.name, a.weight, a.created_at from loci_data.aspects a
                where a.namespace_id = p_namespace_id and a.entity_id = f.id
                order by a.weight desc, a.id desc limit 1000) h
            where h.created_at <= v_known_at limit v_aspects) s
        left join lateral (
            select a.id, a.content, h.importance, h.confidence, a.memory_id, h.held
            from loci_data.attributes a
            cross join lateral loci_internal.attribute_at(a, p_filter.as_of, v_known_at) h
            where a.namespace_id = p_namespace_id and a.aspect_id = s.id and a.kind = 'attribute'
              and (h.held or clock_timestamp() > p_deadline)
            order by a.importance desc, a.id desc limit v_attributes) t on t.held
        left join lateral (
            select m.id, m.doc_id from loci_data.memories m
            where m.namespace_id = p_namespace_id and m.id = t.memory_id
              and loci_internal.memory_is_visible(m, p_filter) limit 1) m on true;
        get diagnostics v_step = row_count;
        v_rows := v_rows + v_step;
        if clock_timestamp() > p_deadline or v_rows > 20000 then
            aspect_id := null;
            return next;
            return;
        end if;
    end loop;
end $$;
comment on function loci_internal.walk_attributes(integer, uuid[], loci_internal.memory_filter, timestamptz) is
    'Attributes of the heaviest aspects of entities; a last row without an aspect: it was cut short.';

-- Gather the attributes of a walk (walk_attributes): memories behind them (ids) with their scores, aspects by weight,
-- and, if p_shown, the attributes as people see them (items). p_shares: by how much each of p_ids counts. late: it was
-- cut short.
create or replace function loci_internal.gather_walk_attributes(
    p_namespace_id integer, p_ids uuid[], p_shares double precision[], p_filter loci_internal.memory_filter,
    p_deadline timestamptz, p_shown boolean, out ids uuid[], out scores double precision[], out aspects uuid[],
    out items json, out late boolean)
language plpgsql stable
as $$
begin
    with found as materialized (
        select a.*, e.share, e.place
        from loci_internal.walk_attributes(p_namespace_id, p_ids, p_filter, p_deadline) a
        left join unnest(p_ids, p_shares) with ordinality e(id, share, place) on e.id = a.entity_id
    ), shown as (
        select f.id, f.entity_id, f.aspect_id, f.aspect, f.weight, f.content, f.importance, f.confidence, f.memory_id
        from found f where p_shown and f.id is not null
        order by f.place, f.weight desc, f.aspect_id, f.importance desc, f.id desc
    )
    select array_agg(f.memory_id) filter (where f.memory_id is not null),
           array_agg(f.importance * f.weight * f.share) filter (where f.memory_id is not null),
           array(select f.aspect_id from found f where f.aspect_id is not null
                 group by f.aspect_id, f.weight order by f.weight desc, f.aspect_id desc),
           (select json_agg(s) from shown s), bool_or(f.aspect_id is null)
    into ids, scores, aspects, items, late from found f;
end $$;
comment on function loci_internal.gather_walk_attributes is
    'Attributes of a walk: memories behind them with scores, aspects, and what is shown.';

-- Where does a walk go from its focal entities? The far ends of their strongest living outgoing edges: at
-- most settings walk_edges of all of them together, of at least walk_min_strength; never back to a focal entity.
-- Living: valid and not faded at p_as_of, as known at p_known_at, see adjacent_edges. share: the strength of
-- the strongest edge that leads there. 32 entities a statement; past p_deadline every row passes, and so ends the
-- search for a living one. late, on every row, and a row without an id where there is no other, says so. Index
-- edges_strength.
create or replace function loci_internal.walk_edges(
    p_namespace_id integer, p_ids uuid[], p_as_of timestamptz, p_known_at timestamptz, p_deadline timestamptz)
returns table (id uuid, share double precision, late boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings  jsonb := loci_internal.settings(p_namespace_id);
    v_rate      double precision := v_settings ->> 'decay_rate';
    v_threshold double precision := v_settings ->> 'edge_threshold';
    v_edges     integer := v_settings ->> 'walk_edges';
    v_least     double precision := v_settings ->> 'walk_min_strength';
    v_rates     jsonb := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
                          where t.namespace_id = p_namespace_id and t.decay_rate is not null);
    v_trusted   boolean := not loci_internal.is_decaying(p_namespace_id);
    v_alive     timestamptz := case when v_trusted then p_as_of else '-infinity' end;
    v_targets   uuid[] := '{}';  -- of the strongest edges so far
    v_strengths double precision[] := '{}';
    v_late      boolean := false;
begin
    for v_done in 0 .. cardinality(p_ids) - 1 by 32 loop
        with followed as materialized (
            select e.* from unnest(p_ids[v_done + 1 : v_done + 32]) f(id)
            cross join lateral (
                select e.id, e.target_id, e.strength, l.living from loci_data.edges e
                cross join lateral (select loci_internal.edge_is_followed(
                    e, null, v_alive, v_trusted, v_threshold, v_least, v_rate, v_rates, p_as_of, p_known_at)
                    and e.target_id not in (select unnest(p_ids)) offset 0) l(living)
                where e.namespace_id = p_namespace_id and e.source_id = f.id and e.target_id is not null
                  and e.strength >= v_least and (l.living or clock_timestamp() > p_deadline)
                order by e.strength desc, e.id desc limit v_edges) e
        ), best as (
            select b.* from (select e.id, e.target_id, e.strength from followed e where e.living
                             union all select null, u.* from unnest(v_targets, v_strengths) u) b
            order by b.strength desc, b.id desc nulls first limit v_edges
        )
        select coalesce(array_agg(b.target_id order by b.strength desc, b.id desc nulls first), '{}'),
               coalesce(array_agg(b.strength order by b.strength desc, b.id desc nulls first), '{}')
        into v_targets, v_strengths from best b;
        if cardinality(v_strengths) >= v_edges then
            v_least := v_strengths[v_edges];  -- what is weaker is not read any more
        end if;
        v_late := clock_timestamp() > p_deadline;
        exit when v_late;
    end loop;
    return query select u.id, max(u.share), v_late from unnest(v_targets, v_strengths) u(id, share)
                 group by u.id order by 2 desc, 1;
    if not found and v_late then
        return query select null::uuid, null::double precision, true;
    end if;
end $$;
comment on function loci_internal.walk_edges(integer, uuid[], timestamptz, timestamptz, timestamptz) is
    'Far ends of the strongest living outgoing edges of entities.';
