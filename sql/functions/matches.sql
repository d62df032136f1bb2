-- Does a memory pass the filters? Inlines into the arms, so that a null field costs one comparison; only subtree and entity
-- need a look-up, done last. Categories match on whole segments of the path: foo never matches foobar (row M7).
create or replace function loci.matches(p_memory loci_data.memories, p_filter loci.memory_filter) returns boolean
language sql stable parallel safe
as $$
    select (p_filter.category is null or p_memory.category = p_filter.category
        or starts_with(p_memory.category, p_filter.category || '/'))
   and (p_filter.tags is null or p_memory.tags && p_filter.tags)
   and (p_filter.tags_all is null or p_memory.tags @> p_filter.tags_all)
   and (p_filter.layers is null or p_memory.layer = any (p_filter.layers))
   and (p_filter.lineage is null or p_memory.lineage = p_filter.lineage)
   and (p_filter.source is null or p_memory.source = p_filter.source)
   and (p_filter.session_id is null or p_memory.session_id = p_filter.session_id)
   and (p_filter.metadata is null or p_memory.metadata @> p_filter.metadata)
   and (p_filter.valid_after is null or p_memory.valid_from >= p_filter.valid_after)
   and (p_filter.valid_before is null or p_memory.valid_from < p_filter.valid_before)
   and (p_filter.recorded_after is null or p_memory.recorded_at >= p_filter.recorded_after)
   and (p_filter.recorded_before is null or p_memory.recorded_at < p_filter.recorded_before)
   and (p_filter.min_importance is null or p_memory.importance >= p_filter.min_importance)
   and (p_filter.min_confidence is null or p_memory.confidence >= p_filter.min_confidence)
   and case when p_filter.under is null and p_filter.entity_id is null then true
            else loci.is_related(p_memory.namespace_id, p_memory.id, p_memory.lineage_id, p_filter) end
$$;
comment on function loci.matches(loci_data.memories, loci.memory_filter) is 'Whether a memory passes resolved filters.';
