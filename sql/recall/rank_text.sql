-- The work of search_text: exact BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) over the terms of a question,
-- OR-ed, with the namespace's own statistics. A large namespace has ranges (search_ranges); any other reads the blocks
-- of each term by the primary key of postings, then walks down the ranking until p_limit memories pass the filter:
-- first among the best 4 × p_limit, and only if that did not suffice among all. Callers have checked the rights; it
-- reads past the policies. Cost: about 0.4 µs a posting.
create or replace function loci_internal.rank_text(p_namespace_id integer, p_query text,
                                                   p_filter loci_internal.memory_filter, p_limit integer)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_terms     bigint[];
    v_documents double precision;
    v_slope     double precision; -- k1 * b / mean length
    v_tried     integer := p_limit * 4;
    v_ids       uuid[];
    v_docs      bigint[];
    v_scores    double precision[];
    v_matches   bigint;  -- at most
    v_ranges    integer[];
    v_slopes    double precision[];
begin
    select array_agg(t.term) into v_terms
    from loci_data.namespaces n cross join lateral loci_internal.document_terms(n.language,
        replace(left(p_query, 200000), '<', ' '), n.accents_kept) t where n.id = p_namespace_id;
    select greatest(sum(c.documents), 1),
           0.9 * greatest(sum(c.documents), 1) / greatest(sum(c.terms), 1) into v_documents, v_slope
    from loci_data.corpus_counts c where c.namespace_id = p_namespace_id;
    select array_agg(r.range), array_agg(r.slope) into v_ranges, v_slopes
    from loci_data.lexical_ranges r where r.namespace_id = p_namespace_id;
    if v_ranges is not null then
        return query
        select s.id, s.doc_id, s.score
        from loci_internal.search_ranges(p_namespace_id, v_ranges, v_slopes, v_terms, v_documents, v_slope, p_filter,
                                         p_limit) s;
        return;
    end if;
    loop
        with block as materialized (  -- the weight of a term once for a block, not once for an entry
            select t.size, t.entries, ln(1 + (greatest(v_documents, t.df) - t.df + 0.5) / (t.df + 0.5)) * 2.2 as weight
            from (select p.size, p.entries, (sum(p.size) over (partition by p.term))::double precision as df
                  from loci_data.postings p where p.namespace_id = p_namespace_id and p.term = any (v_terms)) t
        ), entry as (
            select b.weight, unnest(b.entries) as entry from block b
        ), scored as (
            select entry >> 23 as doc_id,
                   sum(weight / (1 + (0.3 + v_slope * (entry & 32767)) / (entry >> 15 & 255))) as score
            from entry group by 1
        ), passed as (  -- looked up from the best down, and no further than needed
            select m.id, b.score, b.doc_id
            from (select s.doc_id, s.score from scored s order by s.score desc, s.doc_id limit v_tried) b
            cross join lateral (
                select m.id from loci_data.memories m
                where m.namespace_id = p_namespace_id and m.doc_id = b.doc_id
                  and loci_internal.memory_is_visible(m, p_filter) limit 1) m
            order by b.score desc, b.doc_id limit p_limit
        )
        select array_agg(p.id order by p.score desc, p.doc_id), array_agg(p.doc_id order by p.score desc, p.doc_id),
               array_agg(p.score order by p.score desc, p.doc_id),
               (select coalesce(sum(b.size), 0) from block b)
        into v_ids, v_docs, v_scores, v_matches from passed p;
        exit when coalesce(cardinality(v_ids), 0) >= p_limit or v_tried is null or v_matches <= v_tried;
        v_tried := null;
    end loop;
    return query select u.id, u.doc_id, u.score from unnest(v_ids, v_docs, v_scores) u(id, doc_id, score);
end $$;
comment on function loci_internal.rank_text(integer, text, loci_internal.memory_filter, integer) is
    'Memories by exact BM25 over a question''s terms (OR), best first.';
