-- Tree of memories: parents, ancestors, everything below.

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

-- Everything under a memory, at two times: one range of memory_closure in the order of its index, then the visible
-- version of each node; nearest first. cursor, on every row, is what to send for the page that starts after it. Cost
-- follows the page.
create or replace function loci.subtree(
    p_namespace text, p_id uuid, p_limit integer default 100, p_as_of timestamptz default null,
    p_known_at timestamptz default null, p_cursor text default null)
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

-- Which memory does a memory stand under, at a moment (or the nearest to it that it was valid at), as believed at a
-- moment (null: now)? The version of the parent that was visible then, else the parent's first that is left. One row or
-- none; inlines into the caller's plan: one index look-up for a node without parent, two more for the others.
create or replace function loci_internal.parent_of(p_memory loci_data.memories, p_at timestamptz,
                                                   p_known_at timestamptz default null)
returns table (parent_id uuid)
language sql stable parallel safe
as $$
    select coalesce(
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
           and m.valid_from <= case when p_known_at is null then t.moment else 'infinity' end
           and loci_internal.memory_is_visible(m, loci_internal.filter_at(t.moment, p_known_at))
         order by m.valid_from desc limit 1),
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
         order by m.id <> p.parent_id, m.version limit 1))
    from (select greatest(p_memory.valid_from, least(p_at, p_memory.valid_to - interval '1 microsecond')) as moment) t
    join loci_data.memory_placements p on p.namespace_id = p_memory.namespace_id and p.node_id = p_memory.lineage_id
         and loci.holds_at(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, t.moment, p_known_at)
    limit 1
$$;
comment on function loci_internal.parent_of(loci_data.memories, timestamptz, timestamptz) is
    'The memory that a memory stands under at a moment; no row: none.';

-- The node of the hierarchy that a memory is: the id of its lineage's first version. One primary key look-up.
create or replace function loci_internal.lineage_id_of(p_namespace_id integer, p_memory_id uuid,
                                                       p_field text default 'id') returns uuid
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_node uuid;
begin
    select m.lineage_id into v_node from loci_data.memories m where m.namespace_id = p_namespace_id
        and m.id = p_memory_id;
    if v_node is null then
        raise no_data_found using message = format('memory %s does not exist', p_memory_id), column = p_field;
    end if;
    return v_node;
end $$;
comment on function loci_internal.lineage_id_of(integer, uuid, text) is
    'lineage_id of a memory. Errors: P0002 (names p_field).';
