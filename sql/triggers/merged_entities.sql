-- Nothing is written to an entity that was merged into another or removed: names and ids lead to the one that stays, or nowhere.
create or replace trigger entities_merged before update on loci_data.entities
    for each row when (old.merged_into is not null and new.merged_into is not distinct from old.merged_into)
    execute function loci.refuse_merged();
create or replace trigger edges_merged after insert on loci_data.edges
    referencing new table as added for each statement execute function loci.refuse_merged();
create or replace trigger memory_mentions_merged after insert on loci_data.memory_mentions
    referencing new table as added for each statement execute function loci.refuse_merged();
create or replace trigger aspects_merged after insert on loci_data.aspects
    referencing new table as added for each statement execute function loci.refuse_merged();
