-- Trigger: a placement was written, so every path that goes over it is added to the closure: all paths that end at the parent, the
-- step, all paths that start at the node, where their times meet in both dimensions. The law behind it: memory_closure holds exactly
-- one row for each path of placements that some moment, as known at some moment, has. In whatever order placements come,
-- each path is added once, by its last step. Cost: paths above × paths below; a leaf costs its depth.
-- Moves in a namespace take turns (exclusive lock); new leaves only wait for moves (shared).
create or replace function loci.close_paths() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform loci.lock_hierarchy(new.namespace_id, exists (
        select from loci_data.memory_closure c where c.namespace_id = new.namespace_id and c.ancestor_id = new.node_id));
    if exists (select from loci_data.memory_closure c
               where c.namespace_id = new.namespace_id and c.ancestor_id = new.node_id and c.descendant_id = new.parent_id
                 and loci.meet(c.valid_from, c.valid_to, new.valid_from, new.valid_to)
                 and loci.meet(c.recorded_at, c.superseded_at, new.recorded_at, new.superseded_at)) then
        raise integrity_constraint_violation using
            message = format('memory %s stands under %s: the hierarchy would have a cycle', new.parent_id, new.node_id),
            constraint = 'memory_placements_cycle', column = 'parent_id';
    elsif exists (select from loci_data.memory_placements p
                  where p.namespace_id = new.namespace_id and p.node_id = new.node_id
                    and (p.recorded_at, p.valid_from) <> (new.recorded_at, new.valid_from)
                    and loci.meet(p.valid_from, p.valid_to, new.valid_from, new.valid_to)
                    and loci.meet(p.recorded_at, p.superseded_at, new.recorded_at, new.superseded_at)) then
        raise exclusion_violation using message = format('memory %s would have two parents at once', new.node_id),
            constraint = 'memory_placements_overlap', column = 'parent_id';
    end if;
    insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth, valid_from, valid_to, recorded_at, superseded_at)
    select new.namespace_id, p.ancestor_id, p.descendant_id, p.depth, p.valid_from, p.valid_to, p.recorded_at, p.superseded_at
    from loci.paths_over(new) p;
    if new.superseded_at is null then
        perform loci.check_layers(new.namespace_id, new.node_id);
    end if;
    return null;
end $$;
comment on function loci.close_paths() is 'Trigger: add the paths over a new placement to memory_closure; refuse a cycle, a second parent, and layers out of order.';
