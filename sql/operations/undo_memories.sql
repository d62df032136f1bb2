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
