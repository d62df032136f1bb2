-- Make planned domains and concepts, and put orphans under their parents for all time, as a first write with parent_id
-- does. The hierarchy is held alone first; what got a place, or lost its parent, since it was planned is left out.
-- Returns the memories placed and their parents. Errors: those of remember, 23514 (layers).
create or replace function loci_internal.apply_places(p_namespace_id integer, p_namespace text,
                                                      p_places loci_api.planned_place[], p_nodes jsonb)
returns table (memory_id uuid, parent_id uuid)
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made  jsonb := '{}'; -- lineage: id
    v_place record;
begin
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    if p_nodes <> '[]' then
        select coalesce(jsonb_object_agg(n.value ->> 'lineage', r.id), '{}') into v_made
        from loci_api.remember(p_namespace, (
            select jsonb_agg(n.value - 'parent' - 'path' || jsonb_build_object('category', n.value -> 'path', 'source',
                'reflect',
                   'parent_id', coalesce(n.value -> 'parent_id', above.value -> 'id')) order by n.nth)
            from jsonb_array_elements(p_nodes) with ordinality n(value, nth)
            left join jsonb_array_elements(p_nodes) above(value) on above.value ->> 'lineage' = n.value ->> 'parent')) r
        join jsonb_array_elements(p_nodes) with ordinality n(value, nth) on n.nth = r.ordinal + 1;
    end if;
    for v_place in
        select p.memory_id, p.node_id, coalesce(p.parent_id, (v_made ->> p.parent)::uuid) as parent_id,
               m.lineage_id as parent_node
        from unnest(p_places) with ordinality p(memory_id, node_id, parent_id, parent, path, similarity, reason, nth)
        cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = p_namespace_id
                            and m.id = coalesce(p.parent_id, (v_made ->> p.parent)::uuid)
                            and m.status = 'active' limit 1) m
        where exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p.memory_id)
          and not exists (select from loci_data.memory_placements w where w.namespace_id = p_namespace_id
                          and w.node_id = p.node_id)
        order by p.nth
    loop
        perform loci_internal.place_lineage(p_namespace_id, v_place.node_id, v_place.parent_node, '-infinity', null,
                                            clock_timestamp());
        memory_id := v_place.memory_id;
        parent_id := v_place.parent_id;
        return next;
    end loop;
end $$;
comment on function loci_internal.apply_places(integer, text, loci_api.planned_place[], jsonb) is
    'Make planned concepts and place orphans.';
