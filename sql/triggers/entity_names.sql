-- loci.entity_names follows loci.entities inside the same statement.
-- Two triggers, because one with transition tables may serve one event and name no columns.
create or replace trigger entity_names_added after insert on loci.entities
    referencing new table as new_rows for each statement execute function loci.index_entity_names();
create or replace trigger entity_names_changed after update on loci.entities
    referencing old table as old_rows new table as new_rows for each statement execute function loci.index_entity_names();
