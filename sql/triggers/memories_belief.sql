-- Nothing that was once believed is lost when a memory's validity, status or description changes.
create or replace trigger memories_belief before update on loci_data.memories
    for each row when ((old.valid_from, old.valid_to, old.status, old.category, old.tags, old.layer, old.importance, old.confidence, old.metadata)
        is distinct from (new.valid_from, new.valid_to, new.status, new.category, new.tags, new.layer, new.importance, new.confidence, new.metadata))
    execute function loci.keep_belief();
