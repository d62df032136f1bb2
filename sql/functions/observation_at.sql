-- Which observation did an edge's confidence rest on at a past moment, by what was known at another? The newest that restored
-- it, else its first. For moments that the edge's own row does not answer. Inlines into the caller's query.
-- Index edge_observations_edge. Called by worth_then and edge_rows; internal.
create or replace function loci.observation_at(p_namespace_id integer, p_edge_id uuid, p_as_of timestamptz, p_known_at timestamptz)
returns table (confidence double precision, observed_at timestamptz)
language sql stable parallel safe
as $$
    select o.confidence, o.observed_at from loci_data.edge_observations o
    where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.observed_at <= p_as_of and o.recorded_at <= p_known_at
    order by o.restored desc, case when o.restored then o.observed_at end desc, o.observed_at, o.id desc
    limit 1
$$;
comment on function loci.observation_at(integer, uuid, timestamptz, timestamptz) is 'Confidence that an edge had from its observations up to a moment, of those recorded up to another, and since when. Internal.';
