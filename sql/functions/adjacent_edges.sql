-- The edges of some entities that are worth following, entity by entity in the order given, oldest first in each direction: two
-- indexed half-queries (edges_source, edges_target), each of p_fan_out edges and one more, which tells that there are others (n).
-- Alive is an indexed comparison, fades_at > as_of; the exponential is computed only when a minimum is asked for.
-- Cost follows the edges read, whatever the size of the graph. Inlines. Called by expand_entities; internal.
create or replace function loci.adjacent_edges(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_out boolean, p_in boolean, p_fan_out integer,
    p_alive_after timestamptz, p_min_confidence double precision, p_rate double precision, p_min_strength double precision,
    p_as_of timestamptz)
returns table (place bigint, far_id uuid, n bigint, id uuid, source_id uuid, type text, target_id uuid, literal text,
               confidence double precision, strength double precision, last_observed_at timestamptz)
language sql stable parallel safe
as $$
    select f.place, e.*
    from unnest(p_ids) with ordinality f(id, place)
    cross join lateral (
        (select e.target_id, row_number() over (order by e.id), e.id, e.source_id, e.type, e.target_id, e.literal,
                e.confidence, e.strength, e.last_observed_at
         from loci.edges e
         where p_out and e.namespace_id = p_namespace_id and e.source_id = f.id
           and e.superseded_at is null and e.valid_from <= p_as_of and (e.valid_to is null or e.valid_to > p_as_of)
           and e.first_observed_at <= p_as_of and e.fades_at > p_alive_after and e.strength >= p_min_strength
           and (p_edge_types is null or e.type = any(p_edge_types))
           and (p_min_confidence is null or e.last_observed_at > p_as_of or loci.effective_confidence(
                e.confidence, coalesce((select t.decay_rate from loci.edge_types t
                                        where t.namespace_id = p_namespace_id and t.type = e.type), p_rate),
                e.last_observed_at, p_as_of) >= p_min_confidence)
         order by e.id limit p_fan_out + 1)
        union all
        (select e.source_id, row_number() over (order by e.id), e.id, e.source_id, e.type, e.target_id, e.literal,
                e.confidence, e.strength, e.last_observed_at
         from loci.edges e
         where p_in and e.namespace_id = p_namespace_id and e.target_id = f.id and (e.source_id <> f.id or not p_out)
           and e.superseded_at is null and e.valid_from <= p_as_of and (e.valid_to is null or e.valid_to > p_as_of)
           and e.first_observed_at <= p_as_of and e.fades_at > p_alive_after and e.strength >= p_min_strength
           and (p_edge_types is null or e.type = any(p_edge_types))
           and (p_min_confidence is null or e.last_observed_at > p_as_of or loci.effective_confidence(
                e.confidence, coalesce((select t.decay_rate from loci.edge_types t
                                        where t.namespace_id = p_namespace_id and t.type = e.type), p_rate),
                e.last_observed_at, p_as_of) >= p_min_confidence)
         order by e.id limit p_fan_out + 1)
    ) e
$$;
comment on function loci.adjacent_edges(integer, uuid[], text[], boolean, boolean, integer, timestamptz, double precision, double precision, double precision, timestamptz) is 'Edges at entities that pass the filters of a traversal, at most p_fan_out + 1 a side. Internal.';
