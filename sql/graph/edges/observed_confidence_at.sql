-- Which observation did an edge's confidence rest on at a past moment, by what was known at another? The newest that
-- restored it, else its first. For moments that the edge's own row does not answer. Inlines into the caller's query.
-- Index edge_observations_edge.
create or replace function loci_internal.observed_confidence_at(p_namespace_id integer, p_edge_id uuid,
                                                                p_as_of timestamptz, p_known_at timestamptz)
returns table (confidence double precision, observed_at timestamptz)
language sql stable parallel safe
as $$
    select o.confidence, o.observed_at from loci_data.edge_observations o
    where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.observed_at <= p_as_of
      and o.recorded_at <= p_known_at
    order by o.restored desc, case when o.restored then o.observed_at end desc, o.observed_at, o.id desc
    limit 1
$$;
comment on function loci_internal.observed_confidence_at(integer, uuid, timestamptz, timestamptz) is
    'Confidence that an edge had from its observations up to a moment, of those recorded up to another, and since '
    'when.';

-- What was an edge worth at as_of, by what was known at known_at? From the evidence of both times; null where it was
-- not valid or not observed yet. For edges whose own row does not answer: it changed after known_at, or was restored
-- after as_of. Strength, and the rates and the threshold of decay, are the present ones. Two index look-ups, about 10
-- µs. Not inlined on purpose: its plan would be set up anew by every chunk of a traversal, for rows that are rare.
create or replace function loci_internal.confidence_at(p_namespace_id integer, p_edge_id uuid,
                                                       p_valid_from timestamptz, p_valid_to timestamptz,
                                           p_rate double precision, p_as_of timestamptz, p_known_at timestamptz)
                                               returns double precision
language plpgsql stable parallel safe
as $$
begin
    return (select loci.effective_confidence(o.confidence, p_rate, o.observed_at, p_as_of)
            from loci_internal.observed_confidence_at(p_namespace_id, p_edge_id, p_as_of, p_known_at) o
            cross join loci_internal.edge_validity_at(p_namespace_id, p_edge_id, p_valid_from, p_valid_to, p_known_at) v
            where v.valid_from <= p_as_of and (v.valid_to is null or v.valid_to > p_as_of));
end $$;
comment on function loci_internal.confidence_at(integer, uuid, timestamptz, timestamptz, double precision, timestamptz,
                                                timestamptz) is
    'Effective confidence of an edge at two past moments, from the evidence.';
