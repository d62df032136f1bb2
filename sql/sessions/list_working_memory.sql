-- What is in working memory under a prefix of whole segments, without the values? In order of the key, page by page:
-- p_cursor is the last key of the page before. Without a prefix: the declared space, or the one that the key was
-- made for, or everything. Ranges of the primary key. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, space).
create or replace function loci.list_working_memory(
    p_namespace text, p_prefix text default null, p_limit integer default 50, p_cursor text default null,
    p_space text default null)
returns table (key text, space text, category text, tags text[], stored_at timestamptz, expires_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_prefix text :=
        coalesce(p_prefix, case when p_space is not null then loci_internal.working_memory_space(v_ns, p_space)
                                else loci_internal.key_space(v_ns) end);
    v_now    timestamptz := clock_timestamp();
begin
    perform loci_internal.check_page(p_limit);
    return query
    select w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at
    from loci_internal.working_memory_key_ranges(v_prefix) r
    cross join lateral (
        select o.key, o.space, o.category, o.tags, o.stored_at, o.expires_at from loci_data.working_memory o
        where o.namespace_id = v_ns and o.key >= greatest(r.lowest, p_cursor || E'\x01' collate "C")
          and o.key < r.bound and o.expires_at > v_now
        order by o.key limit p_limit) w
    order by w.key limit p_limit;
end $$;
comment on function loci.list_working_memory(text, text, integer, text, text) is
    'Entries under a prefix of whole segments, without values, in order of the key; cursor pages. Errors: 42501, '
    'P0002, 22023.';
