-- Lineages stand again where they stood before an operation: the places that it gave end now, and those that it took
-- are written anew. Earlier knowledge keeps its answer (known_at). The closure and the layers follow by trigger; the
-- hierarchy is locked (lock_undone). All at one moment, after every other that is known of these nodes: see
-- place_lineage. p_left: nodes to leave alone. Returns how many nodes moved. Errors: 23000 (cycle), 23P01 (two
-- parents), 23514 (layers).
create or replace function loci_internal.undo_placements(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_nodes uuid[];
    v_at    timestamptz;
begin
    v_nodes := array(select distinct n.node_id from loci_internal.net_placement_changes(p_namespace_id, p_operation) n
                     where n.node_id <> all (p_left));
    if v_nodes = '{}' then
        return 0;
    end if;
    select greatest(clock_timestamp(),
                    max(greatest(c.recorded_at, c.superseded_at)) + interval '1 microsecond') into v_at
    from (select p.recorded_at, p.superseded_at from loci_data.memory_placements p
          where p.namespace_id = p_namespace_id and p.node_id = any (v_nodes)
          union all
          select l.recorded_at, l.superseded_at from loci_data.memory_closure l where l.namespace_id = p_namespace_id
              and l.ancestor_id = any (v_nodes)
          union all
          select l.recorded_at, l.superseded_at from loci_data.memory_closure l where l.namespace_id = p_namespace_id
              and l.descendant_id = any (v_nodes)
          union all
          select l.recorded_at, l.superseded_at from loci_data.memory_closure l where l.namespace_id = p_namespace_id
              and l.descendant_id = any (array(
              select n.parent_id from loci_internal.net_placement_changes(p_namespace_id, p_operation) n))) c;
    update loci_data.memory_placements p set superseded_at = v_at
    from loci_internal.net_placement_changes(p_namespace_id, p_operation) n
    where n.gained and n.node_id = any (v_nodes)
      and p.namespace_id = p_namespace_id and p.node_id = n.node_id and p.superseded_at is null
      and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (n.parent_id, n.valid_from, n.valid_to);
    insert into loci_data.memory_placements (namespace_id, node_id, parent_id, valid_from, valid_to, recorded_at)
    select p_namespace_id, n.node_id, n.parent_id, n.valid_from, n.valid_to, v_at
    from loci_internal.net_placement_changes(p_namespace_id, p_operation) n
    where not n.gained and n.node_id = any (v_nodes)
      and not exists (select from loci_data.memory_placements p where p.namespace_id = p_namespace_id
                      and p.node_id = n.node_id and p.superseded_at is null
                      and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (n.parent_id, n.valid_from,
                          n.valid_to))
    order by n.node_id, n.valid_from;
    return cardinality(v_nodes);
end $$;
comment on function loci_internal.undo_placements(integer, uuid, uuid[]) is
    'Put lineages back where they stood before an operation; how many. Errors: 23000, 23P01, 23514.';
