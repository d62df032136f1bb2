-- Trigger, once per deleting statement: where the last version of a lineage is deleted, its places, links and counter
-- go; what stood under it becomes the top of its own tree, at every moment. Paths that went over it are joined from
-- their two halves, so that a whole subtree costs its paths and no more.
create or replace function loci_internal.unplace_memories() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_ns record;
begin
    for v_ns in
        select g.namespace_id as id, array_agg(distinct g.lineage_id) as nodes,
               array_agg(distinct g.lineage) as lineages
        from gone g join loci_data.namespaces n on n.id = g.namespace_id
        where not exists (select from loci_data.memories m where m.namespace_id = g.namespace_id
                          and m.lineage_id = g.lineage_id)
        group by g.namespace_id
    loop
        perform loci_internal.lock_hierarchy(v_ns.id, true);
        delete from loci_data.memory_closure c
        using loci_data.memory_closure above
        join loci_data.memory_closure below on below.namespace_id = v_ns.id and below.ancestor_id = above.descendant_id
             and loci_internal.periods_overlap(above.valid_from, above.valid_to, below.valid_from, below.valid_to)
             and loci_internal.periods_overlap(above.recorded_at, above.superseded_at, below.recorded_at,
                                               below.superseded_at)
        where above.namespace_id = v_ns.id and above.descendant_id = any (v_ns.nodes)
          and above.ancestor_id <> all (v_ns.nodes)
          and below.descendant_id <> all (v_ns.nodes)
          and c.namespace_id = v_ns.id and c.ancestor_id = above.ancestor_id and c.descendant_id = below.descendant_id
          and c.recorded_at = greatest(above.recorded_at, below.recorded_at)
          and c.valid_from = greatest(above.valid_from, below.valid_from);
        delete from loci_data.memory_closure where namespace_id = v_ns.id and ancestor_id = any (v_ns.nodes);
        delete from loci_data.memory_closure where namespace_id = v_ns.id and descendant_id = any (v_ns.nodes);
        delete from loci_data.memory_placements where namespace_id = v_ns.id and node_id = any (v_ns.nodes);
        delete from loci_data.memory_placements where namespace_id = v_ns.id and parent_id = any (v_ns.nodes);
        delete from loci_data.memory_links where namespace_id = v_ns.id and source_id = any (v_ns.nodes);
        delete from loci_data.memory_links where namespace_id = v_ns.id and target_id = any (v_ns.nodes);
        delete from loci_data.lineages where namespace_id = v_ns.id and lineage = any (v_ns.lineages);
    end loop;
    return null;
end $$;
comment on function loci_internal.unplace_memories() is
    'Trigger: take lineages without versions out of the hierarchy, links and lineages.';

-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memories_unplace after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci_internal.unplace_memories();
