-- Which entries of working memory live under this path (row W4)? All but their values, newest first, at most p_limit, and one more where
-- there are more; p_ending: only keys whose last segment ends so. expires_in: seconds left. Ranges of the primary key, read whole.
-- Called by context_parts; internal.
create or replace function loci.context_keys(p_namespace_id integer, p_path text, p_ending text, p_limit integer) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    return coalesce(jsonb_agg(to_jsonb(e) order by e.stored_at desc, e.key), '[]')
    from (select w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at,
                 extract(epoch from w.expires_at - v_now)::double precision as expires_in
          from loci.key_ranges(p_path) r
          cross join lateral (
              select o.* from loci_data.working_memory o
              where o.namespace_id = p_namespace_id and o.key >= r.lowest and o.key < r.bound and o.expires_at > v_now offset 0) w
          where p_ending is null or right(w.key, length(p_ending)) = p_ending
          order by w.stored_at desc, w.key limit p_limit + 1) e;
end $$;
comment on function loci.context_keys(integer, text, text, integer) is 'Live entries of working memory under a path, without values, newest first. Internal.';
