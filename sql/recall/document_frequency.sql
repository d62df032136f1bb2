-- How many memories of a namespace have a term? A range of the primary key of postings, and a probe for each range of
-- the lexical index. Inlines into the caller's plan, as a call of its own costs as much as the look-up; offset 0: else
-- it is counted wherever it is used.
create or replace function loci_internal.document_frequency(p_namespace_id integer, p_term bigint)
returns table (df double precision)
language sql stable
as $$
    select coalesce((select sum(p.size) from loci_data.postings p
                     where p.namespace_id = p_namespace_id and p.term = p_term), 0)::double precision
           + coalesce((select sum(i.size) from loci_data.lexical_ranges r
                       join loci_data.lexical_impacts i on i.namespace_id = p_namespace_id and i.range = r.range
                            and i.term = p_term
                       where r.namespace_id = p_namespace_id), 0)::double precision
    offset 0
$$;
comment on function loci_internal.document_frequency(integer, bigint) is
    'Number of memories that have a term; one row.';
