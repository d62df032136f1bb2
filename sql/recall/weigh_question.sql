-- The vector of a question that was given word by word: the sum of its words' vectors, each weighted by how rare the
-- word is here (the idf of BM25 over the largest that there could be, 0.1 at least: stop words and signs), and less a
-- share of the mean of what is stored, which all memories of a namespace have in common. The share is 0.3, and grows to
-- that with the number of vectors. A word that nothing here has weighs 1: it may be meant by another. Cost: 0.03 ms a
-- word.
create or replace function loci_internal.weigh_question(p_namespace_id integer, p_model_id smallint, p_words text[],
                                                        p_vectors vector[]) returns vector
language sql stable set search_path from current
as $$
    with corpus as materialized (
        select n.language, (select greatest(sum(c.documents), 1)::double precision from loci_data.corpus_counts c
                            where c.namespace_id = p_namespace_id) as documents
        from loci_data.namespaces n where n.id = p_namespace_id
    ), weighed as (
        select w.vector, greatest(0.1, (
                   select max(ln(1 + (greatest(c.documents, f.df) - f.df + 0.5) / (f.df + 0.5)))
                   from loci_internal.document_terms(c.language, w.word) t
                   cross join lateral loci_internal.document_frequency(p_namespace_id, t.term) f)
               / ln(1 + (c.documents + 0.5) / 0.5)) as weight
        from unnest(p_words, p_vectors) w(word, vector) cross join corpus c
    ), question as (
        select l2_normalize(sum(w.vector * array_fill(w.weight::real, array[vector_dims(w.vector)])::vector)) as vector
        from weighed w
    )
    select coalesce((
        select q.vector - m.mean * array_fill((0.3 * m.vectors / (m.vectors + 20))::real,
                                              array[vector_dims(m.mean)])::vector
        from loci_data.vector_means m
        where m.namespace_id = p_namespace_id and m.model_id = p_model_id), q.vector)
    from question q
$$;
comment on function loci_internal.weigh_question(integer, smallint, text[], vector[]) is
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
