-- Where was this said? Turns by BM25, any of the question's words, best first, then newest. The newest searched_turns
-- of one session, or of all, are searched, with their own figures. A conversation's older turns are found as
-- what was learned from them. Cost: reads the documents searched, about 1 µs each. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002 (namespace), 22023 (limit).
create or replace function loci.search_turns(p_namespace text, p_query text, p_session_id text default null,
                                             p_limit integer default 10)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz,
               score double precision)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_newest   integer := loci_internal.settings(v_ns) ->> 'searched_turns';
    v_terms    text[] := tsvector_to_array(loci_internal.session_text_document(v_ns, p_query));
    v_query    tsquery := loci_internal.or_tsquery(v_terms);
begin
    perform loci_internal.check_limit(p_limit);
    return query
    with searched as materialized (
        select n.id, n.terms, case when n.document @@ v_query then n.document end as document
        from ((select t.id, t.terms, t.document from loci_data.conversation_turns t
               where p_session_id is not null and t.namespace_id = v_ns and t.session_id = p_session_id
               order by t.id desc limit v_newest)
              union all
              (select t.id, t.terms, t.document from loci_data.conversation_turns t
               where p_session_id is null and t.namespace_id = v_ns order by t.id desc limit v_newest)) n
    ), corpus as (
        select count(*)::double precision as documents, avg(s.terms)::double precision as mean from searched s
    ), hit as (
        select s.id, s.terms, cardinality(u.positions) as frequency, count(*) over (partition by u.lexeme) as holders
        -- the question's words alone, in C
        from searched s cross join lateral unnest(ts_filter(setweight(s.document, 'A', v_terms), '{a}')) u
    ), best as (
        select h.id, sum(loci_internal.bm25_score(h.frequency, h.holders, c.documents, h.terms, c.mean)) as score
        from hit h cross join corpus c group by h.id order by score desc, h.id desc limit p_limit
    )
    select t.id, t.session_id, t.role, t.content, t.metadata, t.said_at, b.score
    from best b
    cross join lateral (select o.* from loci_data.conversation_turns o where o.namespace_id = v_ns
                        and o.id = b.id limit 1) t
    order by b.score desc, b.id desc;
end $$;
comment on function loci.search_turns(text, text, text, integer) is
    'Turns of a session or of all by BM25, best first, among the newest searched_turns. Errors: 42501, P0002, 22023.';
