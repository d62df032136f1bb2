-- Change what is said about a memory, not what it says: category, tags, layer, parent, importance, confidence, metadata.
-- Absent keys keep their value; parent_id null detaches. Another content is another version: write it with the lineage.
-- Triggers keep index and hierarchy. Called by REST. Errors: 42501, P0002, 22023, 23503, 23514, 23000 (cycle).
create or replace function loci.update_memory(p_namespace text, p_id uuid, p_changes jsonb) returns setof loci.memory_record
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci.authorize(p_namespace, 'writer');
    v_new loci_data.memories;
begin
    select * into v_new from loci_data.memories where namespace_id = v_ns and id = p_id for update;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    v_new := jsonb_populate_record(v_new, p_changes);
    return query
    update loci_data.memories m
    set category = v_new.category, tags = v_new.tags, layer = v_new.layer, parent_id = v_new.parent_id,
        importance = v_new.importance, confidence = v_new.confidence, metadata = v_new.metadata, updated_at = clock_timestamp()
    where m.namespace_id = v_ns and m.id = p_id
    returning (loci.memory_record(m, clock_timestamp())).*;
end $$;
comment on function loci.update_memory(text, uuid, jsonb) is 'Change category, tags, layer, parent_id, importance, confidence or metadata of a memory; returns it.';
