-- Vectors follow entities: what is embedded of one (loci.entity_text) waits in the queue in the same transaction.
create or replace trigger entities_queued after insert on loci_data.entities
    referencing new table as added for each statement execute function loci.queue_entities();
create or replace trigger entities_requeued after update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases
                       or old.description is distinct from new.description or old.merged_into is distinct from new.merged_into)
    execute function loci.queue_entity();
