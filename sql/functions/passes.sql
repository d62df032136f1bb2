-- Is a memory visible at the filter's two times, and does it pass the rest of it? Inlines into the arms. What changed after
-- known_at is judged as it was believed then (was_visible).
create or replace function loci.passes(p_memory loci_data.memories, p_filter loci.memory_filter) returns boolean
language sql stable parallel safe
as $$
    select case when p_filter.known_at is null or p_memory.believed_at <= p_filter.known_at
            then p_memory.status = 'active' and p_memory.valid_from <= p_filter.as_of
                 and (p_memory.valid_to is null or p_memory.valid_to > p_filter.as_of) and loci.matches(p_memory, p_filter)
            else p_memory.recorded_at <= p_filter.known_at and loci.was_visible(p_memory, p_filter) end
$$;
comment on function loci.passes(loci_data.memories, loci.memory_filter) is 'Whether a memory is active and valid at as_of, as believed at known_at, and passes the filters.';
