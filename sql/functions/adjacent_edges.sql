-- The edges of some entities that are worth following, in the order of the entities, then by id, which is by age. Two indexed
-- half-queries (edges_source, edges_target), never OR; each gives p_side edges and one more, which tells that there are others
-- (n). Alive is a comparison, fades_at > p_alive_after; where p_trusted, that is enough, and the exponential is in no filter.
-- Else, and before an edge's last observation, its effective confidence (worth) must reach p_least; then it is that of the
-- evidence (observation_at). p_rates: rates of the types that have their own. Cost follows the edges read, not the graph.
-- Called by expand_entities; internal.
create or replace function loci.adjacent_edges(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_side integer, p_alive_after timestamptz,
    p_trusted boolean, p_least double precision, p_min_strength double precision, p_rate double precision, p_rates jsonb, p_as_of timestamptz)
returns table (place bigint, from_id uuid, far_id uuid, n bigint, id uuid, edge loci_data.edges, worth double precision)
language sql stable parallel safe
as $$
    select f.place, f.id, e.*
    from unnest(p_ids) with ordinality f(id, place)
    cross join lateral (
        (select e.target_id, row_number() over (order by e.id), e.id, e, w.worth
         from loci_data.edges e
         cross join lateral (select case
             when e.last_observed_at <= p_as_of then loci.effective_confidence(
                 e.confidence, coalesce((p_rates ->> e.type)::double precision, p_rate), e.last_observed_at, p_as_of)
             else (select loci.effective_confidence(
                       o.confidence, coalesce((p_rates ->> e.type)::double precision, p_rate), o.observed_at, p_as_of)
                   from loci.observation_at(p_namespace_id, e.id, p_as_of) o) end) w(worth)
         where p_direction <> 'in' and e.namespace_id = p_namespace_id and e.source_id = f.id
           and e.fades_at > p_alive_after and e.superseded_at is null
           and e.valid_from <= p_as_of and (e.valid_to is null or e.valid_to > p_as_of) and e.first_observed_at <= p_as_of
           and e.strength >= p_min_strength and (p_edge_types is null or e.type = any(p_edge_types))
           and (p_trusted and e.last_observed_at <= p_as_of or w.worth >= p_least)
         order by e.id limit p_side + 1)
        union all
        (select e.source_id, row_number() over (order by e.id), e.id, e, w.worth
         from loci_data.edges e
         cross join lateral (select case
             when e.last_observed_at <= p_as_of then loci.effective_confidence(
                 e.confidence, coalesce((p_rates ->> e.type)::double precision, p_rate), e.last_observed_at, p_as_of)
             else (select loci.effective_confidence(
                       o.confidence, coalesce((p_rates ->> e.type)::double precision, p_rate), o.observed_at, p_as_of)
                   from loci.observation_at(p_namespace_id, e.id, p_as_of) o) end) w(worth)
         where p_direction <> 'out' and e.namespace_id = p_namespace_id and e.target_id = f.id
           and (e.source_id <> f.id or p_direction = 'in')  -- a loop is found once
           and e.fades_at > p_alive_after and e.superseded_at is null
           and e.valid_from <= p_as_of and (e.valid_to is null or e.valid_to > p_as_of) and e.first_observed_at <= p_as_of
           and e.strength >= p_min_strength and (p_edge_types is null or e.type = any(p_edge_types))
           and (p_trusted and e.last_observed_at <= p_as_of or w.worth >= p_least)
         order by e.id limit p_side + 1)
    ) e(far_id, n, id, edge, worth)
    order by f.place, e.id
$$;
comment on function loci.adjacent_edges(integer, uuid[], text[], text, integer, timestamptz, boolean, double precision, double precision, double precision, jsonb, timestamptz) is 'Edges at entities that pass the filters of a traversal, at most p_side + 1 a direction. Internal.';
