-- How many words does a document hold, repeated ones counted (as the length in BM25)? Pure. Called by what writes documents; internal.
create or replace function loci.count_terms(p_document tsvector) returns integer
language sql immutable parallel safe
as $$
    select coalesce(sum(cardinality(u.positions)), 0)::integer from unnest(p_document) u
$$;
comment on function loci.count_terms(tsvector) is 'Number of words of a tsvector. Internal.';
