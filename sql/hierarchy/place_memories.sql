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
