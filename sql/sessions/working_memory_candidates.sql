-- Which entries of working memory may answer a question, by words or by meaning? The best p_limit by words, at least
-- 100, with their BM25 score; and as many of the newest, without one. Filtered as search_working_memory. text: what is
-- to be embedded, at most 1,000 characters. Cost: twice that of search_working_memory. Security definer: the function
-- called checks the caller. Errors: 42501, P0002, 22023 (limit, space).
create or replace function loci_api.working_memory_candidates(
    p_namespace text, p_query text, p_category text default null, p_tags text[] default null,
    p_prefix text default null, p_limit integer default 10, p_space text default null)
returns table (key text, score double precision, stored_at timestamptz, text text)
language sql stable security definer set search_path = ''
as $$
    select w.key, max(w.score), max(w.stored_at),
           left(loci_internal.working_memory_text(w.key, w.value, w.category, w.tags), 1000)
    from (select s.* from loci.search_working_memory(p_namespace, p_query, p_category, p_tags, p_prefix,
                                                     greatest(p_limit, 100), p_space) s
          union all
          select s.* from loci.search_working_memory(p_namespace, null, p_category, p_tags, p_prefix,
                                                     greatest(p_limit, 100), p_space) s) w
    group by w.key, w.value, w.category, w.tags
$$;
comment on function loci_api.working_memory_candidates(text, text, text, text[], text, integer, text) is
    'Live entries that may answer a question: the best by BM25, and the newest; with the text to embed. Errors: 42501, '
    'P0002, 22023.';

-- Entries of these full keys that live, in no order. A look-up each. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002.
create or replace function loci_api.working_memory_entries(p_namespace text, p_keys text[])
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_now timestamptz := clock_timestamp();
begin
    return query
    select w.key, w.space, w.value, w.category, w.tags, w.stored_at, w.expires_at
    from unnest(p_keys) k(key)
    cross join lateral (select o.* from loci_data.working_memory o
                        where o.namespace_id = v_ns and o.key = k.key collate "C" and o.expires_at > v_now limit 1) w;
end $$;
comment on function loci_api.working_memory_entries(text, text[]) is
    'Live entries of working memory by their full keys. Errors: 42501, P0002.';
