-- A memory as it was believed at a moment: nothing (a row of nulls) before it was recorded. Counters (observations, last_observed_at)
-- are always those of now. One primary key range of memory_beliefs, and only if the memory changed since. Called once a record, so it has
-- no settings of its own.
create or replace function loci.as_believed(p_memory loci_data.memories, p_known_at timestamptz) returns loci_data.memories
language plpgsql stable parallel safe
as $$
declare
    v_then   loci_data.memories;
    v_belief loci_data.memory_beliefs;
begin
    if p_known_at is null or p_memory.believed_at <= p_known_at then
        return p_memory;
    elsif p_memory.recorded_at > p_known_at then
        return null;
    end if;
    select * into v_belief from loci_data.memory_beliefs b
    where b.namespace_id = p_memory.namespace_id and b.memory_id = p_memory.id
      and b.believed_at <= p_known_at and b.believed_to > p_known_at;
    v_then := p_memory;
    v_then.valid_from := v_belief.valid_from;
    v_then.valid_to := v_belief.valid_to;
    v_then.status := v_belief.status;
    v_then.category := v_belief.category;
    v_then.tags := v_belief.tags;
    v_then.layer := v_belief.layer;
    v_then.importance := v_belief.importance;
    v_then.confidence := v_belief.confidence;
    v_then.metadata := v_belief.metadata;
    v_then.believed_at := v_belief.believed_at;
    v_then.updated_at := v_belief.believed_at;
    v_then.superseded_at := case when v_then.superseded_at <= p_known_at then v_then.superseded_at end;
    return v_then;
end $$;
comment on function loci.as_believed(loci_data.memories, timestamptz) is 'A memory as believed at a moment (null: now); a row of nulls before it was recorded.';
