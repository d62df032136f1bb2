-- What are clusters of memories called? The three words that tell each best from the others: in how many of its
-- memories a word stands, times the logarithm of how much more often than in all of them (the same for the same
-- memories); where no word does, its most frequent category. p_clusters: of each memory, 0 to p_count − 1. Numbers,
-- little words and what stands in one memory alone are no names; of Japanese and Chinese, pairs of Chinese characters
-- and runs of katakana are. About 40 µs a memory: asked of a sample.
create or replace function loci_internal.cluster_names(p_namespace_id integer, p_ids uuid[], p_clusters integer[],
                                                       p_count integer) returns text[]
language sql stable
as $$
    with members as materialized (
        select u.id, u.cluster, m.content, m.category
        from unnest(p_ids, p_clusters) u(id, cluster)
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = u.id
    ), words as (
        select distinct m.id, m.cluster, w.word
        from members m
        cross join lateral (
            select t.lexeme as word from unnest(to_tsvector('pg_catalog.simple', left(m.content, 2000))) t
            where t.lexeme ~ '^[[:alpha:]]{3,30}$' and loci_internal.ngrams(t.lexeme) is null
            union all
            select g.term from unnest(loci_internal.ngrams(left(m.content, 2000))) g(term)
            where g.term ~ '^[\u3400-\u9FFF\uF900-\uFAFF]{2}$'
            union all
            select k.run[1] from regexp_matches(left(m.content, 2000), '[\u30A1-\u30FA\u30FC]{2,20}', 'g') k(run)
            where loci_internal.ngrams(m.content) is not null) w
    ), counted as (
        select w.cluster, w.word, count(*) as here, sum(count(*)) over (partition by w.word) as everywhere
        from words w group by w.cluster, w.word
    ), sizes as (
        select m.cluster, count(*)::double precision as size, mode() within group (order by m.category) as category
        from members m group by m.cluster
    ), ranked as (
        select c.cluster, c.word, row_number() over (
            partition by c.cluster
            order by c.here * ln(c.here / s.size * cardinality(p_ids) / c.everywhere) desc, c.word) as place
        from counted c
        join sizes s on s.cluster = c.cluster
        join loci_data.namespaces n on n.id = p_namespace_id
        where c.here > 1 and (cardinality(p_ids) = s.size or c.here * cardinality(p_ids) > s.size * c.everywhere)
          and to_tsvector(n.language, c.word) <> '' and not loci_internal.common_words() ? c.word
    )
    select array_agg(coalesce(r.name, s.category, 'general') order by k)
    from generate_series(0, p_count - 1) k
    left join sizes s on s.cluster = k
    left join lateral (select string_agg(r.word, ', ' order by r.place) as name from ranked r
                       where r.cluster = k and r.place <= 3) r on true
$$;
comment on function loci_internal.cluster_names(integer, uuid[], integer[], integer) is
    'The words that tell each cluster of memories best from the others.';
