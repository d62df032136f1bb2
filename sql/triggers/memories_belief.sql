-- Nothing that was once believed is lost when a memory's validity, status or details change.
create or replace trigger memories_belief before update on loci_data.memories
    for each row when ((old.valid_from, old.valid_to, old.status) is distinct from (new.valid_from, new.valid_to, new.status)
                       or loci.memory_details(old) is distinct from loci.memory_details(new))
    execute function loci.keep_belief();
