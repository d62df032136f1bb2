-- Trigger: a memory was forgotten, superseded by a version of its lineage, or restored: the attributes that rest on it
-- follow, in the same transaction. If only its end moved, as where a version of the future was written, those that
-- ended with it still do. A memory that carries none costs one look-up in attributes_memory.
create or replace function loci_internal.sync_attributes_with_memory() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    if not exists (select from loci_data.attributes a where a.namespace_id = new.namespace_id and a.memory_id = new.id)
        then
        return null;
    elsif (old.status, old.superseded_at) is not distinct from (new.status, new.superseded_at) then
        update loci_data.attributes a
        set valid_to = greatest(a.valid_from, new.valid_to), updated_at = greatest(a.updated_at, new.believed_at)
        where a.namespace_id = new.namespace_id and a.memory_id = new.id and a.status = 'active'
          and a.valid_to is not distinct from old.valid_to;
    elsif new.status <> 'active' or new.superseded_at is not null then
        perform loci_internal.withdraw_attributes(new.namespace_id, array[new.id], clock_timestamp());
    else
        perform loci_internal.revive_attributes(new.namespace_id, array(
            select a.id from loci_data.attributes a
            where a.namespace_id = new.namespace_id and a.memory_id = new.id and a.withdrawn_at is not null), null,
                clock_timestamp());
    end if;
    return null;
end $$;
comment on function loci_internal.sync_attributes_with_memory() is
    'Trigger: withdraw or revive the attributes that rest on a memory.';

-- loci_data.attribute_terms follows loci_data.attributes in the same transaction. Attributes follow the memory that
-- they rest on: one look-up in attributes_memory, where a memory's status or end changes.
create or replace trigger memories_attributes after update on loci_data.memories
    for each row when ((old.status, old.superseded_at, old.valid_to)
                       is distinct from (new.status, new.superseded_at, new.valid_to))
    execute function loci_internal.sync_attributes_with_memory();
