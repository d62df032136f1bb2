-- loci_data.attribute_terms follows loci_data.attributes in the same transaction.
create or replace trigger attributes_terms_added after insert on loci_data.attributes
    for each row execute function loci.index_attribute();
create or replace trigger attributes_terms_changed after update on loci_data.attributes
    for each row when ((old.content, old.status, old.kind, old.aspect_id) is distinct from (new.content, new.status, new.kind, new.aspect_id))
    execute function loci.index_attribute();
-- Attributes follow the memory that they rest on (row M9, seed D): one look-up in attributes_memory, where a memory's status changes.
create or replace trigger memories_attributes after update on loci_data.memories
    for each row when ((old.status, old.superseded_at) is distinct from (new.status, new.superseded_at))
    execute function loci.follow_memory();
