-- loci_data.entity_names follows loci_data.entities inside the same statement.
-- Two triggers, because one with transition tables may serve one event and name no columns.
create or replace trigger entity_names_added after insert on loci_data.entities
    referencing new table as new_rows for each statement execute function loci.index_entity_names();
create or replace trigger entity_names_changed after update on loci_data.entities
    referencing old table as old_rows new table as new_rows for each statement execute function loci.index_entity_names();
