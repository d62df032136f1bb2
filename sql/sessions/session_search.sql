-- Search in turns and working memory.

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

-- Which entries of working memory say this? BM25 over the words of key, value, category and tags, any of the question's
-- words, with the figures of the live entries searched: those under the prefix (whole segments; without one the
-- declared space, or that of the key, else everything), of the category and below, with any of the tags. Without a
-- question: all of these, newest first, without a score. Cost: reads the documents under the prefix, a space's 50 in
-- 0.2 ms; values only of what is returned. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit, space).
create or replace function loci.search_working_memory(
    p_namespace text, p_query text default null, p_category text default null, p_tags text[] default null,
    p_prefix text default null, p_limit integer default 10, p_space text default null)
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz, score double precision)
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

-- Which words find an entry of working memory, or a turn of a conversation? Those of its text (session_words), and
-- those with accents also without them (plain_lexeme). No errors.
create or replace function loci_internal.session_text_document(p_namespace_id integer, p_text text) returns tsvector
language sql stable parallel safe
as $$
    select w.words || case when octet_length(p_text) = length(p_text) then ''::tsvector else
        to_tsvector('pg_catalog.simple', coalesce((
            select string_agg(p.lexeme, ' ' order by u.lexeme) from unnest(w.words) u
            cross join lateral (select loci_internal.plain_lexeme(n.language, u.lexeme) as lexeme
                                where octet_length(u.lexeme) <> length(u.lexeme)) p
            where p.lexeme <> u.lexeme), '')) end
    from loci_data.namespaces n
    cross join lateral (select loci_internal.session_words(n.id, p_text) as words offset 0) w
    where n.id = p_namespace_id
$$;
comment on function loci_internal.session_text_document(integer, text) is
    'Words of a text of working memory or of a conversation, also without accents.';

-- The words of a text of working memory or of a conversation, in the namespace's language, with the parts of paths,
-- addresses and compounds as words, and pairs of characters where a script has no spaces between words (ngrams), as in
-- memories. Without `<`, after which the parser would drop what it takes for markup. The first 200,000 characters: a
-- tsvector holds 1 MiB. About 0.2 µs a character. No errors.
create or replace function loci_internal.session_words(p_namespace_id integer, p_text text) returns tsvector
language sql stable parallel safe
as $$
    select to_tsvector(n.language,
                       loci_internal.short_runs(translate(loci_internal.words_apart(loci_internal.spaced_text(t.text)),
                                                          '_-', '  ')))
           || to_tsvector('pg_catalog.simple', coalesce(array_to_string(loci_internal.ngrams(t.text), ' '), ''))
    from loci_data.namespaces n cross join (select left(p_text, 200000) as text) t where n.id = p_namespace_id
$$;
comment on function loci_internal.session_words(integer, text) is
    'Words of a text of working memory or of a conversation.';

-- The text of an entry of working memory: key, value, category, tags. A JSON string is its text; of other JSON the
-- names and values, escapes taken for spaces, so that no word begins with the letter of an escape. Pure.
create or replace function loci_internal.working_memory_text(p_key text, p_value jsonb, p_category text, p_tags text[])
returns text
language sql immutable parallel safe
as $$
    select concat_ws(' ', p_key,
                     case when jsonb_typeof(p_value) = 'string' then p_value #>> '{}'
                          else regexp_replace(p_value::text, '\\(u[0-9a-f]{4}|.)', ' ', 'g') end,
                     p_category, array_to_string(p_tags, ' '))
$$;
comment on function loci_internal.working_memory_text(text, jsonb, text, text[]) is
    'Text under which an entry of working memory is found.';
