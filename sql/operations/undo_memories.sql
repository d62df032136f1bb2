-- Undo of memories, links and placements.

-- Memories become what they were before an operation: those that it wrote are forgotten (versions of a lineage, but for
-- the first, were never true, so that history shows one that is open), the others get the fields back
-- that it changed. Two statements: what stops being current goes before what becomes current again, so that a lineage
-- never has two. Triggers keep what was believed, the index, and the attributes that rest on them. Nothing is deleted;
-- restoring is the same with other fields. Lineages and memories are locked (lock_undone).
-- p_left: those to leave alone. Returns how many changed. Errors: 23505, 23P01 (another stands in its place).
create or replace function loci_internal.undo_memories(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_total integer := 0;
    v_count integer;
begin
    foreach v_count in array array[0, 1] loop  -- first what is not current any more
        select count(*) into v_count from loci_internal.change_memories(p_namespace_id, array(
            select b
            from (select c.subject_id as id, c.created, case when c.created then '{"status": "forgotten"}'
                  else c.before end as fields
                  from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') c
                  where c.subject_id <> all (p_left) and (c.created or c.before is not null)) n
            cross join lateral (select m from loci_data.memories m where m.namespace_id = p_namespace_id
                                and m.id = n.id limit 1) x
            cross join lateral jsonb_populate_record(x.m,
                                                     case when n.created and (x.m).version > 1
                                                         then jsonb_build_object('valid_to', (x.m).valid_from)
                                                         else '{}' end || n.fields || jsonb_build_object('updated_at',
                                                         greatest((x.m).updated_at, v_at))) b
            where (b.status = 'active' and b.valid_to is null) = (v_count = 1)
              and (b.valid_from, b.valid_to, b.superseded_at, b.status, loci.memory_details(b))
                  is distinct from ((x.m).valid_from, (x.m).valid_to, (x.m).superseded_at, (x.m).status,
                                    loci.memory_details(x.m))));
        v_total := v_total + v_count;
    end loop;
    return v_total;
end $$;
comment on function loci_internal.undo_memories(integer, uuid, uuid[]) is
    'Make the memories of an operation what they were before it; how many. Errors: 23505, 23P01.';

-- Links are again as they were before an operation: those that it made end, those that it ended are made anew, with the
-- strength that they had; what was known before keeps its answer. A link that comes back is a link of its own
-- (link_at): the undone one was never so. p_left: sources whose links stay. Returns how many ended or came back. Index
-- memory_links_present.
create or replace function loci_internal.undo_links(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_ended integer;
    v_made  integer;
begin
    update loci_data.memory_links l set superseded_at = greatest(v_at, l.recorded_at + interval '1 microsecond')
    from loci_internal.net_link_changes(p_namespace_id, p_operation) n
    where n.gained and n.source_id <> all (p_left) and l.namespace_id = p_namespace_id and l.source_id = n.source_id
      and l.target_id = n.target_id and l.type = n.type and l.strength = n.strength and l.superseded_at is null;
    get diagnostics v_ended = row_count;
    insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
    select p_namespace_id, n.source_id, n.target_id, n.type, n.strength, greatest(v_at, (
               select max(o.superseded_at) + interval '1 microsecond' from loci_data.memory_links o
               where o.namespace_id = p_namespace_id and o.source_id = n.source_id and o.target_id = n.target_id
                 and o.type = n.type))
    from loci_internal.net_link_changes(p_namespace_id, p_operation) n
    where not n.gained and n.source_id <> all (p_left)
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage_id = n.source_id)
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage_id = n.target_id)
    order by n.source_id, n.target_id, n.type
    on conflict do nothing;
    get diagnostics v_made = row_count;
    return v_ended + v_made;
end $$;
comment on function loci_internal.undo_links(integer, uuid, uuid[]) is
    'Make links what they were before an operation; how many.';

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
