-- How many memories of a namespace have a term? A range of the primary key of postings, and a probe for each range of
-- the lexical index.
create or replace function loci_internal.term_frequency(p_namespace_id integer, p_term bigint) returns bigint
language sql stable set search_path = ''
as $$
    select coalesce((select sum(p.size) from loci_data.postings p
                     where p.namespace_id = p_namespace_id and p.term = p_term), 0)::bigint
           + coalesce((select sum(i.size) from loci_data.lexical_ranges r
                       join loci_data.lexical_impacts i on i.namespace_id = p_namespace_id and i.range = r.range
                            and i.term = p_term
                       where r.namespace_id = p_namespace_id), 0)::bigint
$$;
comment on function loci_internal.term_frequency(integer, bigint) is
    'Number of memories that have a term.';
