-- A memory in the shape that every surface shows. Its parent is that of the moment, or of the nearest moment that it was valid at. Inlines.
create or replace function loci.memory_record(p_memory loci_data.memories, p_at timestamptz, p_known_at timestamptz default null)
returns loci.memory_record
language sql stable parallel safe
as $$
    select row(p_memory.id, p_memory.lineage, p_memory.version, p_memory.content, p_memory.category, p_memory.tags, p_memory.layer,
               loci.parent_at(p_memory.namespace_id, p_memory.lineage_id, greatest(p_memory.valid_from,
                   least(p_at, p_memory.valid_to - interval '1 microsecond')), p_known_at),
               p_memory.valid_from, p_memory.valid_to, p_memory.recorded_at, p_memory.superseded_at,
               p_memory.status = 'active' and p_memory.valid_from <= p_at and (p_memory.valid_to is null or p_memory.valid_to > p_at),
               p_memory.status, p_memory.importance, p_memory.confidence, p_memory.metadata, p_memory.source,
               p_memory.session_id, p_memory.observations, p_memory.last_observed_at, p_memory.updated_at,
               p_memory.doc_id)::loci.memory_record
$$;
comment on function loci.memory_record(loci_data.memories, timestamptz, timestamptz) is 'Public shape of a memory; current and parent_id are told at a moment.';
