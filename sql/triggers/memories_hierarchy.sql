-- The closure follows parent_id in the same transaction.
create or replace trigger memories_place_added after insert on loci_data.memories
    for each row when (new.parent_id is not null) execute function loci.place_memory();
create or replace trigger memories_place_moved after update on loci_data.memories
    for each row when (old.parent_id is distinct from new.parent_id) execute function loci.place_memory();
create or replace trigger memories_unplace after delete on loci_data.memories
    for each row execute function loci.unplace_memory();
