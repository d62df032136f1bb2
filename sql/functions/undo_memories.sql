-- Memories become what they were before an operation: those that it wrote are forgotten, the others get the fields back that it changed.
-- Two statements: what stops being current goes before what becomes current again, so that a lineage never has two. Triggers
-- keep what was believed, the index, and the attributes that rest on them. Nothing is deleted; restoring is the same with other fields.
-- Locks as remember: lineages in order of name, then memories in order of id. p_left: those to leave alone. Returns how many changed.
-- Called by undo_operation; internal. Errors: 23505, 23P01 (another stands in its place).
create or replace function loci.undo_memories(p_namespace_id integer, p_operation uuid, p_left uuid[]) returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at    timestamptz;
    v_total integer := 0;
    v_count integer;
begin
    perform from loci_data.lineages l
    where l.namespace_id = p_namespace_id and l.lineage = any (array(
          select distinct m.lineage from loci.net_changes(p_namespace_id, p_operation, 'memory') n
          cross join lateral (select x.lineage from loci_data.memories x where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) m))
    order by l.lineage for no key update;
    perform from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.id = any (array(select n.subject_id from loci.net_changes(p_namespace_id, p_operation, 'memory') n))
    order by m.id for no key update;
    v_at := clock_timestamp();
    foreach v_count in array array[0, 1] loop  -- first what is not current any more
        update loci_data.memories m
        set category = b.category, tags = b.tags, layer = b.layer, valid_from = b.valid_from, valid_to = b.valid_to,
            superseded_at = b.superseded_at, status = b.status, importance = b.importance, confidence = b.confidence,
            metadata = b.metadata, updated_at = greatest(m.updated_at, v_at)
        from (select c.subject_id as id, case when c.created then '{"status": "forgotten"}' else c.before end as fields
              from loci.net_changes(p_namespace_id, p_operation, 'memory') c
              where c.subject_id <> all (p_left) and (c.created or c.before is not null)) n
        cross join lateral (select x as memory from loci_data.memories x where x.namespace_id = p_namespace_id and x.id = n.id limit 1) x
        cross join lateral jsonb_populate_record(x.memory, n.fields) b
        where m.namespace_id = p_namespace_id and m.id = n.id
          and (b.status = 'active' and b.valid_to is null) = (v_count = 1)
          and (b.category, b.tags, b.layer, b.valid_from, b.valid_to, b.superseded_at, b.status, b.importance, b.confidence, b.metadata)
              is distinct from (m.category, m.tags, m.layer, m.valid_from, m.valid_to, m.superseded_at, m.status, m.importance, m.confidence, m.metadata);
        get diagnostics v_count = row_count;
        v_total := v_total + v_count;
    end loop;
    return v_total;
end $$;
comment on function loci.undo_memories(integer, uuid, uuid[]) is 'Make the memories of an operation what they were before it; how many. Internal. Errors: 23505, 23P01.';
