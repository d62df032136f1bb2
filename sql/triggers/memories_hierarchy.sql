-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memory_placements_added after insert on loci_data.memory_placements
    for each row execute function loci.close_paths();
create or replace trigger memory_placements_ended after update on loci_data.memory_placements
    for each row when (old.superseded_at is distinct from new.superseded_at) execute function loci.cut_paths();
create or replace trigger memory_placements_removed after delete on loci_data.memory_placements
    referencing old table as gone for each statement execute function loci.cut_removed_paths();
create or replace trigger memories_unplace after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci.unplace_memories();
create or replace trigger memories_layer_added after insert on loci_data.memories
    for each row when (new.version > 1) execute function loci.keep_layers();
create or replace trigger memories_layer_changed after update on loci_data.memories
    for each row when (old.layer <> new.layer) execute function loci.keep_layers();
