-- A memory in the shape that every surface shows, with the parent that parent_of found, and whom it is about. Inlines.
create or replace function loci.memory_record(p_memory loci_data.memories, p_at timestamptz, p_parent_id uuid)
returns loci.memory_record
language sql stable parallel safe
as $$
    select row(p_memory.id, p_memory.lineage, p_memory.version, p_memory.content, p_parent_id, p_memory.valid_from,
               p_memory.valid_to,
               p_memory.recorded_at, p_memory.superseded_at,
               loci.holds_at(p_memory, p_at, null),
               p_memory.status, p_memory.source, p_memory.session_id, p_memory.observations, p_memory.last_observed_at,
               p_memory.updated_at, p_memory.doc_id, p_memory.category collate "C", p_memory.tags, p_memory.layer,
               p_memory.importance, p_memory.confidence, p_memory.metadata,
               loci.memory_about(p_memory))::loci.memory_record
$$;
comment on function loci.memory_record(loci_data.memories, timestamptz, uuid) is
    'Public shape of a memory; current is told at a moment.';
