-- How much of a question do these memories say? For each of p_documents the share of the question's terms that it has,
-- by their rarity here (the idf of BM25): 1 for one that has them all, null where the question has no terms. unknown:
-- terms that no memory here has. memories: how many there are. Terms in more than 5,000 memories weigh little and cost
-- much: they are left out, unless there are no others. Reads the blocks of the terms that stay, about 0.05 µs a posting.
create or replace function loci_internal.question_coverage(p_namespace_id integer, p_query text, p_documents bigint[])
returns table (covered real[], unknown integer, memories bigint)
language sql stable set search_path from current
as $$
    with corpus as materialized (
        select n.language, (select greatest(sum(c.documents), 1) from loci_data.corpus_counts c
                            where c.namespace_id = p_namespace_id)::bigint as documents
        from loci_data.namespaces n where n.id = p_namespace_id
    ), counted as materialized (
        select t.term, f.df, ln(1 + (greatest(c.documents, f.df) - f.df + 0.5) / (f.df + 0.5)) as weight
        from corpus c
        cross join lateral loci_internal.document_terms(c.language, replace(left(p_query, 200000), '<', ' ')) t
        cross join lateral (select coalesce(sum(p.size), 0)::double precision as df from loci_data.postings p
                            where p.namespace_id = p_namespace_id and p.term = t.term) f
    ), weighed as materialized (
        select t.term, t.df, t.weight from counted t
        where t.df <= greatest(5000, (select min(o.df) from counted o))
    ), had as (
        select e.entry >> 23 as doc_id, sum(t.weight) as weight
        from weighed t
        join loci_data.postings p on p.namespace_id = p_namespace_id and p.term = t.term
        cross join lateral unnest(p.entries) e(entry)
        where t.df > 0 and e.entry >> 23 in (select unnest(p_documents)) group by 1
    )
    select (select array_agg((coalesce(h.weight, 0) / nullif((select sum(t.weight) from weighed t), 0))::real
                             order by d.place)
            from unnest(p_documents) with ordinality d(doc_id, place) left join had h on h.doc_id = d.doc_id),
           (select count(*)::integer from counted t where t.df = 0), c.documents
    from corpus c
$$;
comment on function loci_internal.question_coverage(integer, text, bigint[]) is
    'Share of a question''s terms that each of some memories has, by their rarity; how many terms nothing here has; and '
    'how many memories there are.';
