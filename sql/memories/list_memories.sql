-- Newest first, page by page: what is visible at as_of and known_at and passes the filters. p_cursor is the last page's
-- last cursor. Walks the unique index on doc_id.
create or replace function loci.list_memories(
    p_namespace text, p_filter jsonb default '{}', p_limit integer default 50, p_cursor bigint default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_all_versions boolean default false)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select m.* from loci_data.memories m
          where m.namespace_id = v_ns and m.doc_id < coalesce(p_cursor, 9223372036854775807)
            and case when not p_all_versions then loci_internal.memory_is_visible(m, v_filter)
                     when p_known_at is null then loci_internal.memory_matches(m, v_filter)
                     else m.recorded_at <= p_known_at
                         and loci_internal.memory_matches(loci_internal.memory_as_believed(m, p_known_at), v_filter) end
          order by m.doc_id desc limit p_limit) page
    cross join lateral loci_internal.memory_as_believed(page, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    order by b.doc_id desc;
end $$;
comment on function loci.list_memories(text, jsonb, integer, bigint, timestamptz, timestamptz, boolean) is
    'A page of memories, newest first. Errors: 42501, P0002, 22023.';
