-- Trigger: before validity, status or details of a memory change, what was believed until now is kept, so that known_at
-- can be answered for every moment (row M3). The change's own time, updated_at, ends the old belief.
create or replace function loci.keep_belief() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    new.believed_at := greatest(new.updated_at, old.believed_at + interval '1 microsecond');
    insert into loci_data.memory_beliefs (namespace_id, memory_id, valid_from, valid_to, status, details, believed_at, believed_to)
    values (old.namespace_id, old.id, old.valid_from, old.valid_to, old.status, loci.memory_details(old), old.believed_at, new.believed_at);
    return new;
end $$;
comment on function loci.keep_belief() is 'Trigger: keep the ending belief about a memory in memory_beliefs.';
