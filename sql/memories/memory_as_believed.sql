-- A memory as it was believed at a moment: nothing (a row of nulls) before it was recorded. Counters (observations,
-- last_observed_at) are always those of now. One primary key range of memory_beliefs, and only if the memory changed
-- since. Called once a record, so it has no settings of its own.
create or replace function loci_internal.memory_as_believed(p_memory loci_data.memories, p_known_at timestamptz)
returns loci_data.memories
language plpgsql stable parallel safe
as $$
declare
    v_belief record;
begin
    if p_known_at is null or p_memory.believed_at <= p_known_at then
        return p_memory;
    elsif p_memory.recorded_at > p_known_at then
        return null;
    end if;
    select b.valid_from, b.valid_to, b.status, b.believed_at, b.details into v_belief from loci_data.memory_beliefs b
    where b.namespace_id = p_memory.namespace_id and b.memory_id = p_memory.id
      and b.believed_at <= p_known_at and b.believed_to > p_known_at;
    return (p_memory.namespace_id, p_memory.id, p_memory.doc_id, p_memory.lineage, p_memory.lineage_id,
            p_memory.version, p_memory.content,
            p_memory.content_hash, p_memory.fold_scope, v_belief.valid_from, v_belief.valid_to, p_memory.recorded_at,
            v_belief.believed_at,
            case when p_memory.superseded_at <= p_known_at then p_memory.superseded_at end, v_belief.status,
            p_memory.source,
            p_memory.session_id, p_memory.observations, p_memory.last_observed_at, p_memory.created_by,
            v_belief.believed_at,
            (v_belief.details).*)::loci_data.memories;
end $$;
comment on function loci_internal.memory_as_believed(loci_data.memories, timestamptz) is
    'A memory as believed at a moment (null: now); a row of nulls before it was recorded.';
