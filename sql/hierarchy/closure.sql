-- Transitive closure of placements, kept by triggers, and its repair.

-- Trigger: a placement was written, so every path that goes over it is added to the closure: all paths that end at the
-- parent, the step, all paths that start at the node, where their times meet in both dimensions. The law behind it:
-- memory_closure holds exactly one row for each path of placements that some moment, as known at some moment, has. Each
-- path is added once, by its last step, in any order of placements. Cost: paths above × paths below; a leaf costs its
-- depth. Moves in a namespace take turns (exclusive lock); new leaves only wait for moves (shared).
create or replace function loci_internal.closure_add() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform loci_internal.lock_hierarchy(new.namespace_id, exists (
        select from loci_data.memory_closure c where c.namespace_id = new.namespace_id
            and c.ancestor_id = new.node_id));
    if exists (select from loci_data.memory_closure c
               where c.namespace_id = new.namespace_id and c.ancestor_id = new.node_id
                 and c.descendant_id = new.parent_id
                 and loci_internal.periods_overlap(c.valid_from, c.valid_to, new.valid_from, new.valid_to)
                 and loci_internal.periods_overlap(c.recorded_at, c.superseded_at, new.recorded_at, new.superseded_at))
                     then
        raise integrity_constraint_violation using
            message = format('memory %s stands under %s: the hierarchy would have a cycle', new.parent_id, new.node_id),
            constraint = 'memory_placements_cycle', column = 'parent_id';
    elsif exists (select from loci_data.memory_placements p
                  where p.namespace_id = new.namespace_id and p.node_id = new.node_id
                    and (p.recorded_at, p.valid_from) <> (new.recorded_at, new.valid_from)
                    and loci_internal.periods_overlap(p.valid_from, p.valid_to, new.valid_from, new.valid_to)
                    and loci_internal.periods_overlap(p.recorded_at, p.superseded_at, new.recorded_at,
                                                      new.superseded_at)) then
        raise exclusion_violation using message = format('memory %s would have two parents at once', new.node_id),
            constraint = 'memory_placements_overlap', column = 'parent_id';
    end if;
    insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth, valid_from, valid_to,
                                          recorded_at, superseded_at)
    select new.namespace_id, p.ancestor_id, p.descendant_id, p.depth, p.valid_from, p.valid_to, p.recorded_at,
           p.superseded_at
    from loci_internal.closure_paths_over(new) p;
    if new.superseded_at is null then
        perform loci_internal.check_layer_order(new.namespace_id, new.node_id);
    end if;
    return null;
end $$;
comment on function loci_internal.closure_add() is
    'Trigger: add the paths over a new placement to memory_closure; refuse a cycle, a second parent, and layers out '
    'of order.';

-- Trigger: a placement is no longer believed, and so is every path that goes over it. Cost: paths above × paths below.
create or replace function loci_internal.closure_end() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform loci_internal.lock_hierarchy(old.namespace_id, true);
    delete from loci_data.memory_closure c using loci_internal.closure_paths_over(old) p
    where c.namespace_id = old.namespace_id and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
      and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from and c.recorded_at >= new.superseded_at;
    update loci_data.memory_closure c set superseded_at = new.superseded_at
    from loci_internal.closure_paths_over(old) p
    where c.namespace_id = old.namespace_id and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
      and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from
      and (c.superseded_at is null or c.superseded_at > new.superseded_at);
    return null;
end $$;
comment on function loci_internal.closure_end() is
    'Trigger: end the paths in memory_closure that go over a placement.';

-- All paths that go over a placement: those that end at its parent (or start there), the step itself, those that start
-- at its node (or end there), for the time that they share. Two ranges of memory_closure.
create or replace function loci_internal.closure_paths_over(p_step loci_data.memory_placements)
returns table (ancestor_id uuid, descendant_id uuid, depth integer, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz)
language sql stable set search_path = ''
as $$
    select above.node, below.node, above.depth + 1 + below.depth, t.valid_from, t.valid_to, t.recorded_at,
           t.superseded_at
    from (select p_step.parent_id as node, 0 as depth, '-infinity'::timestamptz as valid_from,
          null::timestamptz as valid_to,
                 '-infinity'::timestamptz as recorded_at, null::timestamptz as superseded_at
          union all
          select a.ancestor_id, a.depth, a.valid_from, a.valid_to, a.recorded_at, a.superseded_at
          from loci_data.memory_closure a
          where a.namespace_id = p_step.namespace_id and a.descendant_id = p_step.parent_id) above
    cross join
         (select p_step.node_id as node, 0 as depth, '-infinity'::timestamptz as valid_from,
          null::timestamptz as valid_to,
                 '-infinity'::timestamptz as recorded_at, null::timestamptz as superseded_at
          union all
          select b.descendant_id, b.depth, b.valid_from, b.valid_to, b.recorded_at, b.superseded_at
          from loci_data.memory_closure b
          where b.namespace_id = p_step.namespace_id and b.ancestor_id = p_step.node_id) below
    cross join lateral (
        select greatest(above.valid_from, p_step.valid_from, below.valid_from) as valid_from,
               least(above.valid_to, p_step.valid_to, below.valid_to) as valid_to,
               greatest(above.recorded_at, p_step.recorded_at, below.recorded_at) as recorded_at,
               least(above.superseded_at, p_step.superseded_at, below.superseded_at) as superseded_at) t
    where (t.valid_to is null or t.valid_to > t.valid_from)
      and (t.superseded_at is null or t.superseded_at > t.recorded_at)
$$;
comment on function loci_internal.closure_paths_over(loci_data.memory_placements) is
    'Paths of the hierarchy that go over a placement, with their two times.';

-- Trigger, once per deleting statement: placements were deleted, and with them every path that went over one of them.
-- Where the step itself is no path any more (unplace_memories has been there), none is left that goes over it. Where a
-- whole namespace goes, the closure goes by its foreign key. Cost: paths above × paths below, for each placement.
create or replace function loci_internal.closure_remove() returns trigger
language plpgsql security definer set search_path = ''
-- index look-ups, whatever is known of the tables
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_ns    integer;
    v_steps loci_data.memory_placements[];
begin
    for v_ns in select distinct n.id from gone g join loci_data.namespaces n on n.id = g.namespace_id loop
        perform loci_internal.lock_hierarchy(v_ns, true);
        v_steps := array(
            select row(g.*)::loci_data.memory_placements from gone g
            where g.namespace_id = v_ns and exists (
                  select from loci_data.memory_closure c
                  where c.namespace_id = v_ns and c.ancestor_id = g.parent_id and c.descendant_id = g.node_id
                    and c.recorded_at = g.recorded_at and c.valid_from = g.valid_from));
        delete from loci_data.memory_closure c
        using unnest(v_steps) s cross join lateral loci_internal.closure_paths_over(s) p
        where c.namespace_id = v_ns and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
          and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from;
    end loop;
    return null;
end $$;
comment on function loci_internal.closure_remove() is
    'Trigger: delete the paths in memory_closure that went over deleted placements.';

-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memory_placements_added after insert on loci_data.memory_placements
    for each row execute function loci_internal.closure_add();

-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memory_placements_ended after update on loci_data.memory_placements
    for each row
        when (old.superseded_at is distinct from new.superseded_at) execute function loci_internal.closure_end();

-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memory_placements_removed after delete on loci_data.memory_placements
    referencing old table as gone for each statement execute function loci_internal.closure_remove();

-- Every path of placements, found by recursion: what memory_closure must hold. For loci verify and repair_hierarchy;
create or replace function loci_internal.recompute_closure(p_namespace_id integer)
returns table (ancestor_id uuid, descendant_id uuid, depth integer, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz)
language sql stable set search_path = ''
as $$
    with recursive path as (
        select p.parent_id as ancestor_id, p.node_id as descendant_id, 1 as depth, p.valid_from, p.valid_to,
               p.recorded_at, p.superseded_at
        from loci_data.memory_placements p where p.namespace_id = p_namespace_id
        union all
        select p.parent_id, d.descendant_id, d.depth + 1, greatest(d.valid_from, p.valid_from),
               least(d.valid_to, p.valid_to),
               greatest(d.recorded_at, p.recorded_at), least(d.superseded_at, p.superseded_at)
        from path d join loci_data.memory_placements p on p.namespace_id = p_namespace_id and p.node_id = d.ancestor_id
        where loci_internal.periods_overlap(d.valid_from, d.valid_to, p.valid_from, p.valid_to)
          and loci_internal.periods_overlap(d.recorded_at, d.superseded_at, p.recorded_at, p.superseded_at)
    ) cycle ancestor_id, descendant_id, recorded_at, valid_from set looped using trail
    select d.ancestor_id, d.descendant_id, d.depth, d.valid_from, d.valid_to, d.recorded_at, d.superseded_at
    from path d where not d.looped
$$;
comment on function loci_internal.recompute_closure(integer) is
    'All paths of the hierarchy with their two times, by recursion over placements.';

-- Make memory_closure equal to the recursion over placements: what is missing or wrong is written, what should not be
-- there is deleted, in one transaction, with the hierarchy locked. Admin. Returns how many rows of each.
create or replace function loci_api.repair_hierarchy(p_namespace text) returns table (removed bigint, added bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.lock_hierarchy(v_ns, true);
    with truth as materialized (
        select * from loci_internal.recompute_closure(v_ns)
    ), wrong as (
        delete from loci_data.memory_closure c
        where c.namespace_id = v_ns and not exists (
              select from truth t where t.ancestor_id = c.ancestor_id and t.descendant_id = c.descendant_id
                  and t.depth = c.depth
                 and (t.valid_from, t.recorded_at) = (c.valid_from, c.recorded_at)
                 and t.valid_to is not distinct from c.valid_to
                 and t.superseded_at is not distinct from c.superseded_at)
        returning 1
    )
    select count(*) into removed from wrong;
    with written as (
        insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth, valid_from, valid_to,
                                              recorded_at, superseded_at)
        select v_ns, t.* from loci_internal.recompute_closure(v_ns) t
        on conflict do nothing
        returning 1
    )
    select count(*) into added from written;
    return next;
end $$;
comment on function loci_api.repair_hierarchy(text) is
    'Rebuild what differs between the closure and the recursion over placements. Admin. Errors: 42501, P0002.';
