-- Trigger: a memory was forgotten, ended, corrected or restored, and the facts that rest on it follow in the same
-- transaction, with what they had ended (refold_facts). A fact that comes back is compared with its siblings; where an
-- operation is being undone, with those alone that came after that. A memory that carries none costs one look-up in
-- attributes_memory.
create or replace function loci_internal.sync_attributes_with_memory() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ids uuid[] := array(select a.id from loci_data.attributes a
                          where a.namespace_id = new.namespace_id and a.memory_id = new.id);
begin
    if v_ids <> '{}' then
        perform loci_internal.refold_facts(new.namespace_id, v_ids, greatest(new.updated_at, new.believed_at), true,
                                           loci_internal.undone_since(new.namespace_id));
    end if;
    return null;
end $$;
comment on function loci_internal.sync_attributes_with_memory() is
    'Trigger: let the facts that rest on a memory follow it.';

-- When did the operation begin that this transaction undoes? Null: it undoes none. The primary key of operations.
create or replace function loci_internal.undone_since(p_namespace_id integer) returns timestamptz
language sql stable set search_path = ''
as $$
    select o.started_at from loci_data.operations o
    where o.namespace_id = p_namespace_id and o.id = nullif(current_setting('loci.undoes', true), '')::uuid
$$;
comment on function loci_internal.undone_since(integer) is
    'When the operation began that this transaction undoes.';

-- Facts follow the memory that they rest on: one look-up in attributes_memory, where its status or its end changes.
create or replace trigger memories_attributes after update on loci_data.memories
    for each row when ((old.status, old.superseded_at, old.valid_to)
                       is distinct from (new.status, new.superseded_at, new.valid_to))
    execute function loci_internal.sync_attributes_with_memory();
