-- Which pairs of memories are open: the newer may outdate the older one, and nobody has said which holds? Newest first.
-- Both sides as {id, content, valid_from, category, about, source}. Range of memory_links_open; links of which an end
-- has no current memory any more are passed.
create or replace function loci_api.list_unsettled(p_namespace text, p_limit integer default 50,
                                                   p_cursor text default null)
returns table (newer jsonb, older jsonb, similarity double precision, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_key text[] := loci_internal.read_cursor(p_cursor, 'timestamptz', 'uuid', 'uuid');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select loci_internal.side_of_pair(w), loci_internal.side_of_pair(o), l.strength,
           loci_internal.make_cursor(jsonb_build_array(l.recorded_at, l.source_id, l.target_id))
    from loci_data.memory_links l
    cross join lateral loci_internal.current_of_lineage(v_ns, l.source_id) w
    cross join lateral loci_internal.current_of_lineage(v_ns, l.target_id) o
    where l.namespace_id = v_ns and l.type = 'contradicts' and l.superseded_at is null
      and (v_key is null or (l.recorded_at, l.source_id, l.target_id)
                            < (v_key[1]::timestamptz, v_key[2]::uuid, v_key[3]::uuid))
    order by l.recorded_at desc, l.source_id desc, l.target_id desc limit p_limit;
end $$;
comment on function loci_api.list_unsettled(text, integer, text) is
    'Pairs of memories that are open, newest first; cursor pages. Errors: 42501, P0002, 22023.';

-- One side of an open pair, as it is shown. At most one probe of entity_names.
create or replace function loci_internal.side_of_pair(p_memory loci_data.memories) returns jsonb
language sql stable parallel safe
as $$
    select jsonb_build_object('id', p_memory.id, 'content', p_memory.content, 'valid_from', p_memory.valid_from,
                              'category', p_memory.category, 'about', loci.memory_about(p_memory),
                              'source', p_memory.source)
$$;
comment on function loci_internal.side_of_pair(loci_data.memories) is
    'A memory of an open pair, as it is shown.';
