-- A memory alone in its lineage (its own id is the name) has nothing to overlap with.
create or replace trigger memories_overlap_added after insert on loci_data.memories
    for each row when (new.lineage <> new.id::text and new.status = 'active' and (new.valid_to is null or new.valid_to > new.valid_from))
    execute function loci.refuse_overlap();
create or replace trigger memories_overlap_changed after update on loci_data.memories
    for each row when (new.status = 'active' and (new.valid_to is null or new.valid_to > new.valid_from)
                       and (old.valid_from, old.valid_to, old.status, old.lineage_id)
                           is distinct from (new.valid_from, new.valid_to, new.status, new.lineage_id))
    execute function loci.refuse_overlap();
