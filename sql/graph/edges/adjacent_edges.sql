-- The edges of some entities that are worth following, in the order of the entities, then by id, which is by age. Two
-- indexed half-queries (edges_source, edges_target), never OR; each gives p_side edges and one more, which tells that
-- there are others (n). outward: the entity is the source. Most edges answer for themselves: not observed after
-- p_as_of, not changed after p_known_at. For them alive is a comparison, fades_at > p_alive_after; where p_trusted,
-- that is enough, and the exponential is in no filter. For the others worth comes from the evidence (confidence_at),
-- and must reach p_least; one that was observed once, later, is worth what was stated. p_rates: rates of the types that
-- have their own. p_known_at infinity: the present belief. Cost follows the edges read, not the graph.
create or replace function loci_internal.adjacent_edges(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_side integer,
    p_alive_after timestamptz,
    p_trusted boolean, p_least double precision, p_min_strength double precision, p_rate double precision,
    p_rates jsonb,
    p_as_of timestamptz, p_known_at timestamptz)
returns table (place bigint, from_id uuid, far_id uuid, n bigint, id uuid, outward boolean, type text, literal text,
               strength double precision, worth double precision)
language sql stable parallel safe
as $$
    select f.place, f.id, e.*
    from unnest(p_ids) with ordinality f(id, place)
    cross join lateral (
        (select e.target_id, row_number() over (order by e.id), e.id, true, e.type, e.literal, e.strength, w.worth
         from loci_data.edges e
         cross join lateral (select coalesce((p_rates ->> e.type)::double precision, p_rate)) r(rate)
         cross join lateral (select case
             when e.updated_at <= p_known_at and e.last_observed_at <= p_as_of
             then loci.effective_confidence(e.confidence, r.rate, e.restored_at, p_as_of)
             when e.updated_at <= p_known_at and e.observations = 1 then e.confidence
             else loci_internal.confidence_at(p_namespace_id, e.id, e.valid_from, e.valid_to, e.spells, r.rate,
                                              p_as_of, p_known_at) end) w(worth)
         where p_direction <> 'in' and e.namespace_id = p_namespace_id and e.source_id = f.id
           and e.recorded_at <= p_known_at and (e.superseded_at is null or e.superseded_at > p_known_at)
           and e.strength >= p_min_strength and (p_edge_types is null or e.type = any(p_edge_types))
           and case when e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
               then e.fades_at > p_alive_after
                   and loci_internal.holds_in(e.valid_from, e.valid_to, e.spells, p_as_of)
                   and (p_trusted or w.worth >= p_least)
               else (e.updated_at > p_known_at
                     or loci_internal.holds_in(e.valid_from, e.valid_to, e.spells, p_as_of))
                   and w.worth >= p_least end
         order by e.id limit p_side + 1)
        union all
        (select e.source_id, row_number() over (order by e.id), e.id, false, e.type, e.literal, e.strength, w.worth
         from loci_data.edges e
         cross join lateral (select coalesce((p_rates ->> e.type)::double precision, p_rate)) r(rate)
         cross join lateral (select case
             when e.updated_at <= p_known_at and e.last_observed_at <= p_as_of
             then loci.effective_confidence(e.confidence, r.rate, e.restored_at, p_as_of)
             when e.updated_at <= p_known_at and e.observations = 1 then e.confidence
             else loci_internal.confidence_at(p_namespace_id, e.id, e.valid_from, e.valid_to, e.spells, r.rate,
                                              p_as_of, p_known_at) end) w(worth)
         where p_direction <> 'out' and e.namespace_id = p_namespace_id and e.target_id = f.id
           and (e.source_id <> f.id or p_direction = 'in')  -- a loop is found once
           and e.recorded_at <= p_known_at and (e.superseded_at is null or e.superseded_at > p_known_at)
           and e.strength >= p_min_strength and (p_edge_types is null or e.type = any(p_edge_types))
           and case when e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
               then e.fades_at > p_alive_after
                   and loci_internal.holds_in(e.valid_from, e.valid_to, e.spells, p_as_of)
                   and (p_trusted or w.worth >= p_least)
               else (e.updated_at > p_known_at
                     or loci_internal.holds_in(e.valid_from, e.valid_to, e.spells, p_as_of))
                   and w.worth >= p_least end
         order by e.id limit p_side + 1)
    ) e(far_id, n, id, outward, type, literal, strength, worth)
    order by f.place, e.id
$$;
comment on function loci_internal.adjacent_edges(integer, uuid[], text[], text, integer, timestamptz, boolean,
                                                 double precision, double precision, double precision, jsonb,
                                                 timestamptz, timestamptz) is
    'Edges at entities that pass the filters of a traversal, at most p_side + 1 a direction.';
