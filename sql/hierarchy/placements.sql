-- Placements: a memory gets a parent, another one, or none.

-- Put a node under a parent (null: under none) for a stretch of valid time, from p_at on; the rest of its places stays.
-- Believed placements that the stretch touches end, what of them lies outside of it is written anew, and so is the new
-- place. Nothing happens where it stands there already. The caller holds the hierarchy's lock. If other moves were
-- recorded after p_at (the clock went back, or they were quicker), the moment is just after them. Errors: 23000
-- (cycle), 23514.
create or replace function loci_internal.place_lineage(
    p_namespace_id integer, p_node uuid, p_parent uuid, p_from timestamptz, p_to timestamptz, p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_at   timestamptz;
    v_gone loci_data.memory_placements[];
begin
    if p_to <= p_from then
        return;
    end if;
    select array_agg(p) into v_gone from loci_data.memory_placements p
    where p.namespace_id = p_namespace_id and p.node_id = p_node and p.superseded_at is null
      and loci_internal.periods_overlap(p.valid_from, p.valid_to, p_from, p_to);
    if p_parent is null and v_gone is null or cardinality(v_gone) = 1 and v_gone[1].parent_id = p_parent
       and v_gone[1].valid_from <= p_from and (v_gone[1].valid_to is null or v_gone[1].valid_to >= p_to) then
        return;
    end if;
    select greatest(p_at, max(greatest(c.recorded_at, c.superseded_at)) + interval '1 microsecond') into v_at
    from (select recorded_at, superseded_at from loci_data.memory_placements where namespace_id = p_namespace_id
          and node_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and ancestor_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and descendant_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and descendant_id = p_parent) c;
    update loci_data.memory_placements p set superseded_at = v_at
    from unnest(v_gone) g
    where p.namespace_id = p_namespace_id and p.node_id = p_node and p.recorded_at = g.recorded_at
      and p.valid_from = g.valid_from;
    insert into loci_data.memory_placements (namespace_id, node_id, parent_id, valid_from, valid_to, recorded_at)
    select p_namespace_id, p_node, g.parent_id, g.valid_from, p_from, v_at from unnest(v_gone) g
    where g.valid_from < p_from
    union all
    select p_namespace_id, p_node, g.parent_id, p_to, g.valid_to, v_at from unnest(v_gone) g
    where g.valid_to > p_to or p_to is not null and g.valid_to is null
    union all
    select p_namespace_id, p_node, p_parent, p_from, p_to, v_at where p_parent is not null;
end $$;
comment on function loci_internal.place_lineage(integer, uuid, uuid, timestamptz, timestamptz, timestamptz) is
    'Put a lineage under another for a stretch of valid time.';

-- The places that written items state: a new lineage stands under its parent for all time, a new version for as long as
-- it is valid. New lineages are placed in one statement; versions one after another. Errors: 23503 (parent_id), 23000
-- (cycle), 23514 (layers).
create or replace function loci_internal.place_memories(
    p_namespace_id integer, p_items loci_internal.memory_input[], p_outcomes loci_internal.memory_outcome[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_step record;
begin
    perform loci_internal.lock_hierarchy(p_namespace_id, exists (
        select from unnest(p_items) i join unnest(p_outcomes) o on o.ordinal = i.ordinal
        cross join lateral (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = o.id
                            and m.id <> m.lineage_id limit 1) m
        where i.parent_id is not null));
    for v_step in
        select i.parent_id from unnest(p_items) i
        where i.parent_id is not null and not exists (
              select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = i.parent_id) limit 1
    loop
        raise foreign_key_violation using message = format('memory %s does not exist', v_step.parent_id),
            constraint = 'memory_placements_parent_fkey', column = 'parent_id';
    end loop;
    insert into loci_data.memory_placements (namespace_id, node_id, parent_id, recorded_at)
    select p_namespace_id, m.id, p.lineage_id, m.recorded_at
    from unnest(p_items) i
    join unnest(p_outcomes) o on o.ordinal = i.ordinal and not o.duplicate
    cross join lateral (select n.id, n.lineage_id, n.recorded_at from loci_data.memories n
                        where n.namespace_id = p_namespace_id and n.id = o.id limit 1) m
    cross join lateral (select n.lineage_id from loci_data.memories n where n.namespace_id = p_namespace_id
                        and n.id = i.parent_id limit 1) p
    where m.id = m.lineage_id;
    for v_step in
        select m.lineage_id as node, p.lineage_id as parent, m.valid_from, m.valid_to, m.recorded_at
        from unnest(p_items) i
        join unnest(p_outcomes) o on o.ordinal = i.ordinal and not o.duplicate
        cross join lateral (select * from loci_data.memories n where n.namespace_id = p_namespace_id and n.id = o.id
                            and n.id <> n.lineage_id limit 1) m
        cross join lateral (select n.lineage_id from loci_data.memories n where n.namespace_id = p_namespace_id
                            and n.id = i.parent_id limit 1) p
        where i.parent_id is not null
        order by i.round, i.ordinal
    loop
        perform loci_internal.place_lineage(p_namespace_id, v_step.node, v_step.parent, v_step.valid_from,
                                            v_step.valid_to, v_step.recorded_at);
    end loop;
end $$;
comment on function loci_internal.place_memories(integer, loci_internal.memory_input[],
                                                 loci_internal.memory_outcome[]) is
    'Place written memories under the parents that they state.';

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

-- Wait for this transaction's turn at the hierarchy of a namespace: alone to move what may have something under it,
-- together with others to add leaves. Held to the end of the transaction.
create or replace function loci_internal.lock_hierarchy(p_namespace_id integer, p_alone boolean) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if p_alone then
        perform loci_internal.lock_alone(p_namespace_id, 'hierarchy');
    else
        perform loci_internal.lock_shared(p_namespace_id, 'hierarchy');
    end if;
end $$;
comment on function loci_internal.lock_hierarchy(integer, boolean) is
    'Lock the hierarchy of a namespace for this transaction, alone or shared.';
