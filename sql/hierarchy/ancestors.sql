-- Everything above a memory, at two times: one range of memory_closure, then the visible version of each node; nearest
-- first.
create or replace function loci.ancestors(
    p_namespace text, p_id uuid, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (depth integer, memory loci.memory_record)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_node   uuid := loci_internal.lineage_id_of(v_ns, p_id);
begin
    return query
    select c.depth, loci.memory_record(b, v_filter.as_of, p.parent_id)
    from loci_data.memory_closure c
    cross join lateral (
        select o.* from loci_data.memories o
        where o.namespace_id = v_ns and o.lineage_id = c.ancestor_id and o.valid_from <= v_filter.begun_by
          and loci_internal.memory_is_visible(o, v_filter)
        order by o.valid_from desc limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    where c.namespace_id = v_ns and c.descendant_id = v_node
      and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, v_filter.as_of, p_known_at)
    order by c.depth, c.ancestor_id;
end $$;
comment on function loci.ancestors(text, uuid, timestamptz, timestamptz) is
    'Memories above a memory with their depth, nearest first, at two times. Errors: 42501, P0002, 22023.';
