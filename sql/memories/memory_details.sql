-- Details of a memory, beside its content and its time. Inlines.
create or replace function loci.memory_details(p_memory loci_data.memories) returns loci.memory_details
language sql immutable parallel safe
as $$
    select row(p_memory.category collate "C", p_memory.tags, p_memory.layer, p_memory.importance, p_memory.confidence,
               p_memory.metadata, p_memory.about)::loci.memory_details
$$;
comment on function loci.memory_details(loci_data.memories) is
    'Details of a memory, beside its content and its time.';
