-- Was this memory believed, and valid, at these moments? Inlines into the arms. known_at null: what is believed now.
create or replace function loci.is_visible(p_memory loci_data.memories, p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql stable parallel safe
as $$
    select case when p_known_at is null or (p_memory.believed_at <= p_known_at)
            then p_memory.status = 'active' and p_memory.valid_from <= p_as_of
                 and (p_memory.valid_to is null or p_memory.valid_to > p_as_of)
            else p_memory.recorded_at <= p_known_at
                 and loci.was_believed(p_memory.namespace_id, p_memory.id, p_as_of, p_known_at) end
$$;
comment on function loci.is_visible(loci_data.memories, timestamptz, timestamptz) is 'Whether a memory is active and valid at as_of, as believed at known_at (null: now).';
