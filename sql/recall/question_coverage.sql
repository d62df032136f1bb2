-- How much of a question do these memories say? For each of p_documents the share of the question's terms that it has,
-- by their rarity here (the idf of BM25): 1 for one that has them all, null where the question has no terms. unknown:
-- terms that no memory here has. memories: how many there are. Terms in more than 5,000 memories weigh little and
-- cost much: they are left out, unless there are no others. Reads the blocks of the terms that stay, about 0.1 µs a
-- posting.
create or replace function loci_internal.question_coverage(p_namespace_id integer, p_query text, p_documents bigint[])
returns table (covered real[], unknown integer, memories bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_terms   bigint[];
    v_weights double precision[];
    v_sum     double precision;
begin
    select greatest(sum(c.documents), 1) into memories from loci_data.corpus_counts c
    where c.namespace_id = p_namespace_id;
    with counted as materialized (
        select t.term, f.df, ln(1 + (greatest(memories, f.df) - f.df + 0.5) / (f.df + 0.5)) as weight
        from loci_data.namespaces n
        cross join lateral loci_internal.document_terms(n.language, replace(left(p_query, 200000), '<', ' ')) t
        cross join lateral (select coalesce(sum(p.size), 0)::double precision as df from loci_data.postings p
                            where p.namespace_id = p_namespace_id and p.term = t.term) f
        where n.id = p_namespace_id
    ), least as materialized (
        select greatest(5000, min(c.df)) as df from counted c
    )
    select array_agg(c.term) filter (where c.df > 0), array_agg(c.weight) filter (where c.df > 0),
           sum(c.weight), (select count(*) from counted o where o.df = 0)
    into v_terms, v_weights, v_sum, unknown
    from counted c cross join least l where c.df <= l.df;
    with had as (
        select e.entry >> 23 as doc_id, sum(t.weight) as weight
        from unnest(v_terms, v_weights) t(term, weight)
        join loci_data.postings p on p.namespace_id = p_namespace_id and p.term = t.term
        cross join lateral unnest(p.entries) e(entry)
        where e.entry >> 23 = any (p_documents) group by 1
    )
    select array_agg((coalesce(h.weight, 0) / nullif(v_sum, 0))::real order by d.place) into covered
    from unnest(p_documents) with ordinality d(doc_id, place) left join had h on h.doc_id = d.doc_id;
    return next;
end $$;
comment on function loci_internal.question_coverage(integer, text, bigint[]) is
    'Share of a question''s terms that each of some memories has, by their rarity; how many terms nothing here has; '
    'and how many memories there are.';
