-- Everything under a memory, at two times: one range of memory_closure in the order of its index, then the visible
-- version of each node; nearest first. cursor, on every row, is what to send for the page that starts after it. Cost
-- follows the page.
create or replace function loci.subtree(
    p_namespace text, p_id uuid, p_limit integer default 100, p_as_of timestamptz default null,
    p_known_at timestamptz default null,
    p_cursor text default null)
returns table (depth integer, memory loci.memory_record, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_node   uuid := loci_internal.lineage_id_of(v_ns, p_id);
    v_after  text[] := coalesce(loci_internal.read_cursor(p_cursor, 'integer', 'uuid'),
                                array['0', loci_internal.nil_uuid()::text]);
begin
    return query
    select c.depth, loci.memory_record(b, v_filter.as_of, p.parent_id),
           loci_internal.make_cursor(jsonb_build_array(c.depth, c.descendant_id))
    from loci_data.memory_closure c
    cross join lateral (
        select o.* from loci_data.memories o
        where o.namespace_id = v_ns and o.lineage_id = c.descendant_id and o.valid_from <= v_filter.begun_by
          and loci_internal.memory_is_visible(o, v_filter)
        order by o.valid_from desc limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    where c.namespace_id = v_ns and c.ancestor_id = v_node
      and (c.depth, c.descendant_id) > (v_after[1]::integer, v_after[2]::uuid)
      and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, v_filter.as_of, p_known_at)
    order by c.depth, c.descendant_id limit p_limit;
end $$;
comment on function loci.subtree(text, uuid, integer, timestamptz, timestamptz, text) is
    'Memories under a memory with their depth, nearest first, at two times; cursor pages. Errors: 42501, P0002, 22023.';
