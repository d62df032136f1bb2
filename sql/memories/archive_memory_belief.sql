-- Trigger: before validity, status or details of a memory change, what was believed until now is kept, so that known_at
-- can be answered for every moment. The change's own time, updated_at, ends the old belief. Compares here, where the
-- plan is kept: a function in the condition of a trigger is planned anew for every statement.
create or replace function loci_internal.archive_memory_belief() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if (old.valid_from, old.valid_to, old.status) is distinct from (new.valid_from, new.valid_to, new.status)
       or loci.memory_details(old) is distinct from loci.memory_details(new) then
        new.believed_at := greatest(new.updated_at, old.believed_at + interval '1 microsecond');
        insert into loci_data.memory_beliefs (namespace_id, memory_id, valid_from, valid_to, status, details,
                                              believed_at, believed_to)
        values (old.namespace_id, old.id, old.valid_from, old.valid_to, old.status, loci.memory_details(old),
                old.believed_at, new.believed_at);
    end if;
    return new;
end $$;
comment on function loci_internal.archive_memory_belief() is
    'Trigger: keep the ending belief about a memory in memory_beliefs.';

-- Nothing that was once believed is lost when a memory's validity, status or details change.
create or replace trigger memories_belief before update on loci_data.memories
    for each row execute function loci_internal.archive_memory_belief();
