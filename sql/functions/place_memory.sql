-- Trigger: keep the transitive closure when a memory gets or changes its parent (row M6). Nodes are lineages, so that a new
-- version keeps its place. Moves in a namespace take turns (exclusive lock); new leaves only wait for moves (shared).
create or replace function loci.place_memory() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_node   uuid := new.lineage_id;
    v_parent uuid := (select lineage_id from loci_data.memories where namespace_id = new.namespace_id and id = new.parent_id);
    v_lock   bigint := hashtextextended('loci.hierarchy', new.namespace_id);
begin
    if new.version = 1 and tg_op = 'INSERT' then
        perform pg_advisory_xact_lock_shared(v_lock);
    elsif v_parent is not distinct from (select ancestor_id from loci_data.memory_closure
                                         where namespace_id = new.namespace_id and descendant_id = v_node and depth = 1) then
        return null;
    else
        perform pg_advisory_xact_lock(v_lock);
    end if;
    if v_parent = v_node or exists (select from loci_data.memory_closure where namespace_id = new.namespace_id
                                    and ancestor_id = v_node and descendant_id = v_parent) then
        raise integrity_constraint_violation using
            message = format('memory %s stands under %s already: the hierarchy would have a cycle', new.parent_id, new.id),
            constraint = 'memories_parent_cycle', column = 'parent_id';
    end if;
    delete from loci_data.memory_closure c
    using loci_data.memory_closure above
    where above.namespace_id = new.namespace_id and above.descendant_id = v_node
      and c.namespace_id = new.namespace_id and c.ancestor_id = above.ancestor_id
      and (c.descendant_id = v_node or c.descendant_id in (
           select below.descendant_id from loci_data.memory_closure below
           where below.namespace_id = new.namespace_id and below.ancestor_id = v_node));
    insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth)
    select new.namespace_id, above.id, below.id, above.steps + below.steps + 1
    from (select v_parent as id, 0 as steps where v_parent is not null
          union all select ancestor_id, depth from loci_data.memory_closure
          where namespace_id = new.namespace_id and descendant_id = v_parent) above
    cross join (select v_node as id, 0 as steps
                union all select descendant_id, depth from loci_data.memory_closure
                where namespace_id = new.namespace_id and ancestor_id = v_node) below;
    return null;
end $$;
comment on function loci.place_memory() is 'Trigger: maintain memory_closure; refuse a cycle.';
