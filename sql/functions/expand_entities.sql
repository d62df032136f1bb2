-- What is connected to these entities, and how far away? (Row G7.) Breadth first and level by level, never by paths. Each edge
-- once, in order of discovery: hop, then order of the frontier, then id. Bounds: hops; p_limit edges; settings fan_out edges
-- a direction of an entity; settings traverse_ms. A last row without an ordinal names in truncated the first that was hit: limit,
-- fan_out, time. A level is read
-- in chunks of entities, and of at most v_room rows, so that the steps between two looks at the clock are small.
-- via: ordinal of the edge that led to from_id; null at a start. confidence: the effective one at p_as_of, from the edge itself,
-- or, before its last observation, from the evidence (observation_at). An edge whose target is a literal ends a branch.
-- Cost: about 5 µs an edge. Called by traverse and search_graph; internal.
create or replace function loci.expand_entities(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_max_hops integer, p_limit integer,
    p_min_confidence double precision, p_min_strength double precision, p_as_of timestamptz)
returns table (ordinal integer, hop integer, via integer, from_id uuid, far_id uuid, id uuid, source_id uuid, type text,
               target_id uuid, literal text, confidence double precision, strength double precision, truncated text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off  -- where there is a choice: sizes of arrays are unknown to the planner
as $$
declare
    v_settings  jsonb := loci.settings(p_namespace_id);
    v_rate      double precision := v_settings ->> 'decay_rate';
    v_rates     jsonb := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
                          where t.namespace_id = p_namespace_id and t.decay_rate is not null);
    v_threshold double precision := v_settings ->> 'edge_threshold';
    v_fan_out   integer := v_settings ->> 'fan_out';
    v_side      integer := least(v_fan_out, p_limit + 1);
    v_deadline  timestamptz := clock_timestamp() + (v_settings ->> 'traverse_ms')::double precision * interval '1 millisecond';
    v_alive     timestamptz := case when p_min_confidence < v_threshold then '-infinity' else p_as_of end;  -- less: faded ones too
    v_frontier  uuid[] := p_ids;
    v_arrivals  integer[] := array_fill(null::integer, array[cardinality(p_ids)]);  -- the edge that led to each
    v_visited   uuid[] := p_ids;
    v_ids       uuid[] := '{}';  -- edges found, and where each leads
    v_far       uuid[] := '{}';
    v_level     integer;  -- edges found before this hop
    v_done      integer;  -- entities of the frontier that are expanded
    v_size      integer;  -- of the next chunk, in entities and in edges
    v_room      integer;
    v_late      boolean := false;
    v_step      record;
    v_truncated text;
begin
    for v_hop in 1..p_max_hops loop
        v_level := cardinality(v_ids);
        v_done := 0;
        v_size := 64;
        while v_done < cardinality(v_frontier) and cardinality(v_ids) <= p_limit and not v_late loop
            v_room := greatest(2 * v_side + 3, 1.2 * (p_limit + 1 - cardinality(v_ids)));
            with near as materialized (
                select a.* from loci.adjacent_edges(p_namespace_id, v_frontier[v_done + 1 : v_done + v_size], p_edge_types,
                    p_direction, v_side, v_alive, p_min_confidence is null, coalesce(p_min_confidence, v_threshold), p_min_strength,
                    v_rate, v_rates, p_as_of) a
                limit v_room
            ), reached as materialized (
                select count(*) as rows, coalesce(max(n.place), 0) as place, bool_or(n.n > v_fan_out) as more from near n
            ), fresh as (
                select n.* from near n
                where n.n <= v_side
                  and not exists (select from unnest(v_ids) s(id) where s.id = n.id)
                  and not exists (select from near t where t.id = n.id and t.place < n.place and t.n <= v_side)
            )
            select array_agg(f.edge order by f.place, f.id) as edges, array_agg(f.id order by f.place, f.id) as ids,
                   array_agg(f.worth order by f.place, f.id) as worth,
                   array_agg(v_arrivals[v_done + f.place] order by f.place, f.id) as vias,
                   array_agg(f.from_id order by f.place, f.id) as froms, array_agg(f.far_id order by f.place, f.id) as far,
                   min(r.place) as place, bool_or(r.rows >= v_room) as full, bool_or(r.more) as more
            into v_step
            from reached r left join fresh f on r.rows < v_room or f.place < r.place;
            if v_step.ids[1] is not null then
                return query
                select (cardinality(v_ids) + u.ordinal)::integer, v_hop, u.via, u.from_id, u.far_id, u.id, u.source_id, u.type,
                       u.target_id, u.literal, u.worth, u.strength, null::text
                from rows from (unnest(v_step.edges), unnest(v_step.vias), unnest(v_step.froms), unnest(v_step.far), unnest(v_step.worth))
                     with ordinality as u(
                         namespace_id, id, source_id, type, target_id, literal, confidence, initial_confidence, strength, aspect_id,
                         observations, first_observed_at, last_observed_at, fades_at, valid_from, valid_to, recorded_at, superseded_at,
                         metadata, updated_at, via, from_id, far_id, worth, ordinal)
                where cardinality(v_ids) + u.ordinal <= p_limit;
                v_ids := v_ids || v_step.ids;
                v_far := v_far || v_step.far;
            end if;
            v_done := v_done + case when v_step.full then v_step.place - 1 else v_size end;
            -- As many entities as should fill the limit, going by this chunk; never more than twice as many.
            v_size := greatest(16, least(1024, 2 * v_size, v_size * 1.2 * (p_limit + 1 - cardinality(v_ids))
                                         / (1 + coalesce(cardinality(v_step.ids), 0))));
            v_late := clock_timestamp() > v_deadline;
            v_truncated := coalesce(v_truncated, case
                when v_step.more then 'fan_out' when cardinality(v_ids) > p_limit then 'limit'
                when v_late and (v_done < cardinality(v_frontier) or v_hop < p_max_hops) then 'time' end);
        end loop;
        exit when v_hop = p_max_hops or cardinality(v_ids) > p_limit or v_late;
        select array_agg(f.id order by f.ordinal), array_agg(v_level + f.ordinal order by f.ordinal) into v_frontier, v_arrivals
        from (select u.id, min(u.ordinal)::integer as ordinal from unnest(v_far[v_level + 1 :]) with ordinality u(id, ordinal)
              where u.id is not null and not exists (select from unnest(v_visited) v(id) where v.id = u.id) group by u.id) f;
        exit when v_frontier is null;
        v_visited := v_visited || v_frontier;
    end loop;
    if v_truncated is not null then
        return query select null::integer, null::integer, null::integer, null::uuid, null::uuid, null::uuid, null::uuid, null::text,
                            null::uuid, null::text, null::double precision, null::double precision, v_truncated;
    end if;
end $$;
comment on function loci.expand_entities(integer, uuid[], text[], text, integer, integer, double precision, double precision, timestamptz) is 'Edges around entities, breadth first within hops, limit, fan-out and time. Internal.';
