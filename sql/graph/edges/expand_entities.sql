-- Expansion of entities over their edges.

-- What is connected to these entities, and how far away? Breadth first and level by level, never by paths. Each edge
-- once, in order of discovery: hop, then order of the frontier, then what matters most (types of p_named, effective
-- confidence × strength, the newest). So what matters most is what every bound keeps. Bounds: hops; p_limit edges;
-- settings fan_out edges a direction of an entity; settings traverse_ms. A last row without an ordinal names in
-- truncated all that cut it short, in the order in which they did: limit, fan_out, time. A level is read in chunks
-- of entities, and of at most v_room rows, so that little is read beyond the limit and the steps between two looks
-- at the clock are small; an entity that a chunk cut short is read again, unless the limit is reached. via: ordinal
-- of the edge that led to from_id; null at a start. confidence: the effective one at p_as_of as known at p_known_at
-- (infinity: as believed now), see adjacent_edges. An edge whose target is a literal ends a branch. Cost: about 3 µs
-- an edge.
create or replace function loci_internal.expand_entities(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_max_hops integer, p_limit integer,
    p_min_confidence double precision, p_min_strength double precision, p_as_of timestamptz, p_known_at timestamptz,
    p_named text[] default '{}')
returns table (ordinal integer, hop integer, via integer, from_id uuid, far_id uuid, id uuid, source_id uuid, type text,
               target_id uuid, literal text, confidence double precision, strength double precision, truncated text[])
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: sizes of arrays are unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_settings  jsonb := loci_internal.settings(p_namespace_id);
    v_rate      double precision := v_settings ->> 'decay_rate';
    v_rates     jsonb := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
                          where t.namespace_id = p_namespace_id and t.decay_rate is not null);
    v_threshold double precision := v_settings ->> 'edge_threshold';
    v_fan_out   integer := v_settings ->> 'fan_out';
    v_side      integer := least(v_fan_out, p_limit + 1);
    v_deadline  timestamptz := clock_timestamp() + (v_settings ->> 'traverse_ms')::double precision
        * interval '1 millisecond';
    v_trusted   boolean := not loci_internal.is_decaying(p_namespace_id);
    -- less: faded ones too
    v_alive     timestamptz := case when p_min_confidence < v_threshold or not v_trusted then '-infinity'
        else p_as_of end;
    -- confidences are printed with six digits, and compared so
    v_least     double precision := coalesce(p_min_confidence - 0.5e-6, v_threshold);
    -- where all edges decay at the rate of the index, and their rows answer, it has them in order; at other moments it
    -- has nearly, and at other rates it has not
    v_read      integer := case
        when v_rate <> 0.01 or v_rates is not null then null
        when p_known_at < 'infinity' or p_as_of < clock_timestamp() - interval '1 minute'
        then greatest(4 * (v_side + 1), 1000) else v_side + 1 end;
    v_frontier  uuid[] := p_ids;
    v_arrivals  integer[] := array_fill(0, array[cardinality(p_ids)]);  -- the edge that led to each
    v_visited   uuid[] := p_ids;
    v_ids       uuid[] := '{}';  -- edges found, and where each leads
    v_far       uuid[] := '{}';
    v_count     integer := 0;
    v_level     integer;  -- edges found before this hop
    v_done      integer;  -- entities of the frontier that are expanded
    v_size      integer;  -- of the next chunk, in entities and in edges
    v_room      integer;
    v_stuck     boolean;  -- the last chunk did not get past its first entity
    v_late      boolean := false;
    v_step      record;
    v_truncated text[] := '{}';
begin
    for v_hop in 1..p_max_hops loop
        v_level := v_count;
        v_done := 0;
        v_size := 64;
        v_stuck := false;
        while v_done < cardinality(v_frontier) and v_count <= p_limit and not v_late loop
            v_room := greatest(case when v_stuck then 2 * v_side + 3 else 32 end, 1.2 * (p_limit + 1 - v_count));
            with near as materialized (
                select a.* from loci_internal.adjacent_edges(p_namespace_id, v_frontier[v_done + 1 : v_done + v_size],
                                                             p_edge_types,
                    p_direction, v_side, v_alive, p_min_confidence is null and v_trusted, v_least, p_min_strength,
                    v_rate, v_rates, p_as_of, p_known_at, p_named, v_read,
                    case when v_count = 0 then 'infinity' else v_deadline end) a  -- however late, something is found
                limit v_room
            ), fresh as (
                select n.*, row_number() over (order by n.place, n.named desc, n.weight desc,
                                                     n.last_observed_at desc, n.id) as nth
                from near n
                where n.n <= v_side and not exists (  -- found before, or from an earlier entity of this chunk
                    select from (select s.id, 0 as place from unnest(v_ids) s(id)
                                 union all select t.id, t.place from near t where t.n <= v_side) k
                    where k.id = n.id and k.place < n.place)
            )
            select array_agg(f.id order by f.nth) as ids, array_agg(f.far_id order by f.nth) as far,
                   array_agg(f.place order by f.nth) as places,
                   array_agg(f.outward order by f.nth) as outward,
                   array_agg(f.type order by f.nth) as types,
                   array_agg(f.literal order by f.nth) as literals,
                   array_agg(f.strength order by f.nth) as strengths,
                   array_agg(f.worth order by f.nth) as worths,
                   count(*)::integer as edges, (select count(*) from near) as rows,
                   (select max(n.place) from near n) as place,
                   (select bool_or(n.n > v_fan_out) from near n) as more
            into v_step
            from fresh f;
            if v_step.edges > 0 then
                return query  -- unnest in the select list: no tuplestore an array, half the time
                select v_count + u.ordinal, v_hop, nullif(v_arrivals[v_done + u.place], 0),
                       v_frontier[v_done + u.place],
                       u.far_id, u.id, case when u.outward then v_frontier[v_done + u.place] else u.far_id end, u.type,
                       case when u.outward then u.far_id else v_frontier[v_done + u.place] end, u.literal, u.worth,
                       u.strength, null::text[]
                from (select generate_subscripts(v_step.ids, 1) as ordinal, unnest(v_step.ids) as id,
                      unnest(v_step.far) as far_id,
                             unnest(v_step.places) as place, unnest(v_step.outward) as outward,
                             unnest(v_step.types) as type,
                             unnest(v_step.literals) as literal, unnest(v_step.strengths) as strength,
                             unnest(v_step.worths) as worth
                      limit p_limit - v_count) u;
                v_ids := v_ids || v_step.ids;
                v_far := v_far || v_step.far;
                v_count := v_count + v_step.edges;
            end if;
            v_stuck := v_step.rows >= v_room and v_step.place = 1;
            v_done := v_done + case when v_step.rows >= v_room then v_step.place - 1 else v_size end;
            -- As many entities as should fill the limit, going by this chunk; never more than twice as many.
            v_size := greatest(16,
                               least(1024, 2 * v_size, v_size * 1.2 * (p_limit + 1 - v_count) / (1 + v_step.edges)));
            v_late := clock_timestamp() > v_deadline;
            if v_step.more and 'fan_out' <> all (v_truncated) then
                v_truncated := v_truncated || 'fan_out'::text;
            end if;
            if v_count > p_limit then
                v_truncated := v_truncated || 'limit'::text;
            end if;
            if v_late and (v_read is null or v_done < cardinality(v_frontier) or v_hop < p_max_hops) then
                v_truncated := v_truncated || 'time'::text;
            end if;
        end loop;
        exit when v_hop = p_max_hops or v_count > p_limit or v_late;
        select array_agg(f.id order by f.ordinal), array_agg(v_level + f.ordinal order by f.ordinal) into v_frontier,
               v_arrivals
        from (select u.id, min(u.ordinal)::integer as ordinal
              from unnest(v_far[v_level + 1 :]) with ordinality u(id, ordinal)
              where u.id is not null and not exists (select from unnest(v_visited) v(id) where v.id = u.id)
              group by u.id) f;
        exit when v_frontier is null;
        v_visited := v_visited || v_frontier;
    end loop;
    if v_truncated <> '{}' then
        return query select null::integer, null::integer, null::integer, null::uuid, null::uuid, null::uuid,
                            null::uuid, null::text,
                            null::uuid, null::text, null::double precision, null::double precision, v_truncated;
    end if;
end $$;
comment on function loci_internal.expand_entities(integer, uuid[], text[], text, integer, integer, double precision,
                                                  double precision, timestamptz, timestamptz, text[]) is
    'Edges around entities, breadth first within hops, limit, fan-out and time.';
