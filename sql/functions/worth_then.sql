-- What was an edge worth at as_of, by what was known at known_at? From the evidence of both times; null where it was not valid or
-- not observed yet. For edges whose own row does not answer: it changed after known_at, or was restored after as_of.
-- Strength, and the rates and the threshold of decay, are the present ones. Two index look-ups, about 10 µs. Not inlined on purpose:
-- its plan would be set up anew by every chunk of a traversal, for rows that are rare. Called by adjacent_edges, edge_page; internal.
create or replace function loci.worth_then(p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz, p_valid_to timestamptz,
                                           p_rate double precision, p_as_of timestamptz, p_known_at timestamptz) returns double precision
language plpgsql stable parallel safe
as $$
begin
    return (select loci.effective_confidence(o.confidence, p_rate, o.observed_at, p_as_of)
            from loci.observation_at(p_namespace_id, p_edge_id, p_as_of, p_known_at) o
            cross join loci.edge_validity(p_namespace_id, p_edge_id, p_valid_from, p_valid_to, p_known_at) v
            where v.valid_from <= p_as_of and (v.valid_to is null or v.valid_to > p_as_of));
end $$;
comment on function loci.worth_then(integer, uuid, timestamptz, timestamptz, double precision, timestamptz, timestamptz) is 'Effective confidence of an edge at two past moments, from the evidence. Internal.';
