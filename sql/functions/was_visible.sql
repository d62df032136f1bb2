-- The same as passes, for a memory that was changed after known_at: judged as it was believed then. Called by passes.
create or replace function loci.was_visible(p_memory loci_data.memories, p_filter loci.memory_filter) returns boolean
language plpgsql stable parallel safe
as $$
declare
    v_then loci_data.memories := loci.as_believed(p_memory, p_filter.known_at);
begin
    return v_then.id is not null and v_then.status = 'active' and v_then.valid_from <= p_filter.as_of
       and (v_then.valid_to is null or v_then.valid_to > p_filter.as_of) and loci.matches(v_then, p_filter);
end $$;
comment on function loci.was_visible(loci_data.memories, loci.memory_filter) is 'Whether a memory, as it was believed at known_at, was visible and passes the filters.';
