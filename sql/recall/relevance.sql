-- Relevance: terms of a question by their rarity, how many of them memories have, windows of a text.

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
    with stated as materialized (
        select t.term, t.nth from loci_internal.terms_by_word(v_language, v_accents, p_query, p_words) t
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

-- Terms of a question (nth 0), of the question with its accents, where they are kept (-1), and of each of p_words (its
-- place). Pure, inlines.
create or replace function loci_internal.terms_by_word(p_language regconfig, p_accents boolean, p_query text,
                                                       p_words text[])
returns table (term bigint, nth integer)
language sql immutable parallel safe
as $$
    select t.term, 0 from loci_internal.document_terms(p_language, replace(left(p_query, 200000), '<', ' ')) t
    union all
    select t.term, -1
    from loci_internal.document_terms(p_language, replace(left(p_query, 200000), '<', ' '), true) t where p_accents
    union all
    select t.term, w.nth::integer
    from unnest(p_words) with ordinality w(word, nth)
    cross join lateral loci_internal.document_terms(p_language, w.word) t
$$;
comment on function loci_internal.terms_by_word(regconfig, boolean, text, text[]) is
    'Terms of a question and of each of its words.';

-- Which share of a question's terms do these memories have? For each of p_documents the share of those (told) that
-- it has, by their weights: 1 for one that has them all, null where the question has no terms. Reads the blocks of the
-- terms, about 0.1 µs a posting, and of each range that has some of these memories a vector a term.
create or replace function loci_internal.question_coverage(
    p_namespace_id integer, p_terms loci_internal.question_terms, p_documents bigint[]) returns double precision[]
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_covered double precision[];
begin
    with placed as materialized (  -- those that are in ranges
        select r.range, o.doc_id, b.place
        from (select l.range, l.first, l.last, l.documents || '{}'::bigint[] as documents  -- read once
              from loci_data.lexical_ranges l where l.namespace_id = p_namespace_id and l.size = l.places
                and exists (select from unnest(p_documents) o where o between l.first and l.last) offset 0) r
        join unnest(p_documents) o(doc_id) on o.doc_id between r.first and r.last
        cross join lateral (select width_bucket((o.doc_id << 15) | 32767, r.documents) as place offset 0) b
        where r.documents[b.place] >> 15 = o.doc_id
        union all
        select r.range, d.document >> 15, d.place::integer  -- where some are gone their places are 0, out of order
        from loci_data.lexical_ranges r cross join lateral unnest(r.documents) with ordinality d(document, place)
        where r.namespace_id = p_namespace_id and r.size < r.places
          and exists (select from unnest(p_documents) o where o between r.first and r.last)
          and d.document >> 15 = any (p_documents)
    ), impact as materialized (  -- a vector is read once
        select g.doc_ids, g.places, t.weight, coalesce(i.sparse::vector, i.dense::vector) as impacts
        from (select p.range, array_agg(p.doc_id) as doc_ids, array_agg(p.place) as places
              from placed p group by p.range) g
        cross join unnest(p_terms.told, p_terms.told_weights) t(term, weight)
        join loci_data.lexical_impacts i on i.namespace_id = p_namespace_id and i.range = g.range and i.term = t.term
    ), had as (
        select f.doc_id, sum(f.weight) as weight
        from (select e.entry >> 23 as doc_id, t.weight
              from unnest(p_terms.told, p_terms.told_weights) t(term, weight)
              join loci_data.postings p on p.namespace_id = p_namespace_id and p.term = t.term
              cross join lateral unnest(p.entries) e(entry)
              where e.entry >> 23 = any (p_documents)
              union all
              select u.doc_id, i.weight
              from impact i cross join lateral unnest(i.doc_ids, i.places) u(doc_id, place)
              where (subvector(i.impacts, u.place, 1)::real[])[1] > 0) f
        group by f.doc_id
    )
    select array_agg(coalesce(h.weight, 0) / nullif(p_terms.told_sum, 0) order by d.place) into v_covered
    from unnest(p_documents) with ordinality d(doc_id, place) left join had h on h.doc_id = d.doc_id;
    return v_covered;
end $$;
comment on function loci_internal.question_coverage(integer, loci_internal.question_terms, bigint[]) is
    'Share of a question''s terms that each of some memories has, by their rarity.';

-- Which windows of long texts say something of a question? p_windows: parts of texts, p_texts the number of the text
-- that each is part of. Score: BM25 (Robertson and Zaragoza, 2009) with the windows of one text as its documents, so a
-- word that is all over a text tells little; windows without a word of the question have no row. Windows are of about
-- one length, so characters measure them. Reads no table but the namespace: about 1 µs a character. Security definer;
-- checks first. Errors: 42501, P0002.
create or replace function loci_api.rank_windows(p_namespace text, p_query text, p_texts integer[], p_windows text[])
returns table (nth integer, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_language regconfig;
    v_accents  boolean;
    v_terms    bigint[];
begin
    select n.language, n.accents_kept into v_language, v_accents from loci_data.namespaces n where n.id = v_ns;
    select array_agg(t.term) into v_terms
    from loci_internal.document_terms(v_language, replace(left(p_query, 200000), '<', ' '), v_accents) t;
    return query
    with part as materialized (
        select w.text, w.body, w.nth::integer as nth, length(w.body)::double precision as size
        from unnest(p_texts, p_windows) with ordinality w(text, body, nth)
    ), corpus as materialized (
        select p.text, count(*)::double precision as windows, avg(p.size) as mean from part p group by p.text
    ), hit as materialized (
        select p.text, p.nth, p.size, t.frequency::double precision as frequency,
               (count(*) over (partition by p.text, t.term))::double precision as holders
        from part p cross join lateral loci_internal.document_terms(v_language, p.body, v_accents) t
        where t.term = any (v_terms)
    )
    select h.nth, sum(loci_internal.bm25_score(h.frequency, h.holders, c.windows, h.size, c.mean))
    from hit h join corpus c on c.text = h.text group by h.nth order by h.nth;
end $$;
comment on function loci_api.rank_windows(text, text, integer[], text[]) is
    'Windows of long texts by the words of a question that they have, BM25 within each text. Errors: 42501, P0002.';

-- The vector of a question that was given word by word: the sum of its words' vectors, each with the weight of its word
-- (weigh_terms: 0.1 for stop words and signs, 1 for one that nothing here has, which may be meant by another), less a
-- share of the mean of what is stored, which all memories of a namespace have in common. The share is 0.3, and grows
-- to that with the number of vectors.
create or replace function loci_internal.weigh_question(p_namespace_id integer, p_model_id smallint,
                                                        p_terms loci_internal.question_terms, p_vectors vector[])
returns vector
language sql stable set search_path from current
as $$
    with question as (
        select l2_normalize(sum(w.vector * array_fill(w.weight::real, array[vector_dims(w.vector)])::vector)) as vector
        from unnest(p_terms.word_weights, p_vectors) w(weight, vector)
    )
    select coalesce((
        select q.vector - m.mean * array_fill((0.3 * m.vectors / (m.vectors + 20))::real,
                                              array[vector_dims(m.mean)])::vector
        from loci_data.vector_means m
        where m.namespace_id = p_namespace_id and m.model_id = p_model_id), q.vector)
    from question q
$$;
comment on function loci_internal.weigh_question(integer, smallint, loci_internal.question_terms, vector[]) is
    'Vector of a question from those of its words, by their rarity in a namespace.';

-- How near to a question is a memory of this namespace on the average? The cosine of a vector with those stored, meant.
-- Null as long as there is no mean.
create or replace function loci_internal.mean_similarity(p_namespace_id integer, p_model_id smallint, p_vector vector)
returns double precision
language sql stable set search_path from current
as $$
    select -(p_vector <#> m.mean) / nullif(vector_norm(p_vector), 0) from loci_data.vector_means m
    where m.namespace_id = p_namespace_id and m.model_id = p_model_id
$$;
comment on function loci_internal.mean_similarity(integer, smallint, vector) is
    'Mean cosine of a vector with those of a namespace; null where no mean is kept.';
