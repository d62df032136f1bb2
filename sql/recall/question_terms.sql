-- Terms of a question, weighed by how rare they are in a namespace.

-- What does a question consist of, and how rare is that here? Read once for all arms. terms, weights: its terms and
-- their idf in BM25 (k1 + 1 times ln(1 + (N - n + 0.5) / (n + 0.5)); Robertson and Zaragoza, 2009); slope: k1 × b over
-- the mean length. told, told_weights: those by which it is measured how much of the question a memory says, and their
-- idf as if 200 more memories had none of them (what is rare among two says nothing); told_sum: of all of these, also
-- of what nobody here has. Terms in more than 5,000 memories weigh little and cost much, so they are left out of told,
-- unless there are no others. word_weights: of each of p_words (null: none are asked for), in their order, the idf of
-- its rarest term over the largest that there could be, 0.1 at least. documents: memories here, at least 1; counted:
-- terms of the question; unknown: those of them that no memory here has. Cost: 0.03 ms a text, and a look-up a term.
create or replace function loci_internal.weigh_terms(p_namespace_id integer, p_query text, p_words text[])
returns loci_internal.question_terms
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_found     loci_internal.question_terms;
    v_query     text := replace(left(p_query, 200000), '<', ' ');
    v_length    double precision;
    v_language  regconfig;
    v_accents   boolean;
begin
    select n.language, n.accents_kept, c.documents, c.terms into v_language, v_accents, v_found.documents, v_length
    from loci_data.namespaces n
    cross join lateral (select greatest(sum(k.documents), 1)::double precision as documents,
                               greatest(sum(k.terms), 1)::double precision as terms
                        from loci_data.corpus_counts k where k.namespace_id = n.id) c
    where n.id = p_namespace_id;
    v_found.slope := 0.9 * v_found.documents / v_length;
    with stated as materialized (  -- nth: of a word; 0: of the question, -1: of the question with its accents
        select t.term, 0 as nth from loci_internal.document_terms(v_language, v_query) t
        union all
        select t.term, -1 from loci_internal.document_terms(v_language, v_query, true) t where v_accents
        union all
        select t.term, w.nth::integer
        from unnest(p_words) with ordinality w(word, nth)
        cross join lateral loci_internal.document_terms(v_language, w.word) t
    ), counted as materialized (
        select s.term, f.df, greatest(v_found.documents, f.df) - f.df as others
        from (select distinct term from stated) s
        cross join lateral loci_internal.document_frequency(p_namespace_id, s.term) f
    ), weighed as materialized (
        select s.nth, c.term, c.df, ln(1 + (c.others + 0.5) / (c.df + 0.5)) as idf,
               ln(1 + (c.others + 200 + 0.5) / (c.df + 0.5)) as told
        from stated s join counted c using (term)
    ), least as materialized (
        select greatest(5000, min(w.df)) as df from weighed w where w.nth = 0
    )
    select array_agg(w.term order by w.term) filter (where w.nth = case when v_accents then -1 else 0 end),
           array_agg(w.idf * 2.2 order by w.term) filter (where w.nth = case when v_accents then -1 else 0 end),
           array_agg(w.term order by w.term) filter (where w.nth = 0 and w.df between 1 and l.df),
           array_agg(w.told order by w.term) filter (where w.nth = 0 and w.df between 1 and l.df),
           sum(w.told) filter (where w.nth = 0 and w.df <= l.df),
           count(*) filter (where w.nth = 0), count(*) filter (where w.nth = 0 and w.df = 0),
           (select array_agg(greatest(0.1, (select max(o.idf) from weighed o where o.nth = p.nth)
                                           / ln(1 + (v_found.documents + 0.5) / 0.5)) order by p.nth)
            from generate_subscripts(p_words, 1) p(nth))
    into v_found.terms, v_found.weights, v_found.told, v_found.told_weights, v_found.told_sum, v_found.counted,
         v_found.unknown, v_found.word_weights
    from weighed w cross join least l;
    return v_found;
end $$;
comment on function loci_internal.weigh_terms(integer, text, text[]) is
    'Terms of a question and of its words, weighed by how rare they are in a namespace.';
