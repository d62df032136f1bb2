-- The lexical index and the embedding queue follow memories inside the same transaction.
create or replace trigger memories_index_added after insert on loci_data.memories
    referencing new table as added for each statement execute function loci.index_added_memories();
create or replace trigger memories_index_changed after update on loci_data.memories
    for each row when (loci.index_text(old) is distinct from loci.index_text(new))
    execute function loci.index_changed_memory();
create or replace trigger memories_unindex after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci.unindex_memories();
