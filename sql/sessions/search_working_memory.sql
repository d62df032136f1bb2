-- Which entries of working memory say this? BM25 over the words of key, value, category and tags, any of the question's
-- words, with the figures of the live entries searched: those under the prefix (whole segments; without one the
-- declared space, or that of the key, else everything), of the category and below, with any of the tags. Without a
-- question: all of these, newest first, without a score. Cost: reads the documents under the prefix, a space's 50 in
-- 0.2 ms; values only of what is returned. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit, space).
create or replace function loci.search_working_memory(
    p_namespace text, p_query text default null, p_category text default null, p_tags text[] default null,
    p_prefix text default null,
    p_limit integer default 10, p_space text default null)
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz,
               score double precision)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_prefix   text :=
        coalesce(p_prefix, case when p_space is not null then loci_internal.working_memory_space(v_ns, p_space)
                                else loci_internal.key_space(v_ns) end);
    v_category text := rtrim(p_category, '/');
    v_now      timestamptz := clock_timestamp();
    -- null: no question
    v_terms    text[] := tsvector_to_array(loci_internal.session_text_document(v_ns, nullif(btrim(p_query), '')));
    v_query    tsquery := loci_internal.or_tsquery(v_terms);
begin
    perform loci_internal.check_limit(p_limit);
    return query
    with searched as materialized (
        select w.key, w.stored_at, w.terms, case when w.document @@ v_query then w.document end as document
        from loci_internal.working_memory_key_ranges(v_prefix) r
        cross join lateral (
            select o.* from loci_data.working_memory o
            where o.namespace_id = v_ns and o.key >= r.lowest and o.key < r.bound and o.expires_at > v_now
              and (v_category is null or o.category = v_category or starts_with(o.category, v_category || '/'))
              and (p_tags is null or o.tags && p_tags) offset 0) w
    ), corpus as (
        select count(*)::double precision as documents, avg(s.terms)::double precision as mean from searched s
    ), hit as (
        select s.key, s.stored_at, s.terms, cardinality(u.positions) as frequency,
               count(*) over (partition by u.lexeme) as holders
        -- the question's words alone, in C
        from searched s cross join lateral unnest(ts_filter(setweight(s.document, 'A', v_terms), '{a}')) u
    ), ranked as (
        select h.key, h.stored_at,
               sum(loci_internal.bm25_score(h.frequency, h.holders, c.documents, h.terms, c.mean)) as score
        from hit h cross join corpus c group by h.key, h.stored_at
        union all
        select s.key, s.stored_at, null from searched s where v_terms is null
    )
    select w.key, w.space, w.value, w.category, w.tags, w.stored_at, w.expires_at, b.score
    from (select k.key, k.stored_at, k.score from ranked k order by k.score desc, k.stored_at desc,
          k.key limit p_limit) b
    cross join lateral (select o.* from loci_data.working_memory o where o.namespace_id = v_ns
                        and o.key = b.key limit 1) w
    order by b.score desc, b.stored_at desc, b.key;
end $$;
comment on function loci.search_working_memory(text, text, text, text[], text, integer, text) is
    'Live entries by BM25, or newest first without a question; filtered by category, tags and prefix. Errors: 42501, '
    'P0002, 22023.';
