-- Trigger, once per deleting statement: placements were deleted, and with them every path that went over one of them. Where the step
-- itself is no path any more (unplace_memories has been there), none is left that goes over it. Where a whole
-- namespace goes, the closure goes by its foreign key. Cost: paths above × paths below, for each placement.
create or replace function loci.cut_removed_paths() returns trigger
language plpgsql security definer set search_path = ''
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off  -- index look-ups, whatever is known of the tables
as $$
declare
    v_ns    integer;
    v_steps loci_data.memory_placements[];
begin
    for v_ns in select distinct n.id from gone g join loci_data.namespaces n on n.id = g.namespace_id loop
        perform loci.lock_hierarchy(v_ns, true);
        v_steps := array(
            select row(g.*)::loci_data.memory_placements from gone g
            where g.namespace_id = v_ns and exists (
                  select from loci_data.memory_closure c
                  where c.namespace_id = v_ns and c.ancestor_id = g.parent_id and c.descendant_id = g.node_id
                    and c.recorded_at = g.recorded_at and c.valid_from = g.valid_from));
        delete from loci_data.memory_closure c
        using unnest(v_steps) s cross join lateral loci.paths_over(s) p
        where c.namespace_id = v_ns and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
          and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from;
    end loop;
    return null;
end $$;
comment on function loci.cut_removed_paths() is 'Trigger: delete the paths in memory_closure that went over deleted placements.';
