-- Trigger: what becomes current again while another memory says exactly the same is refused, and the error names that
-- one. The unique index memories_fold is what guards: see change_memories. One probe of that index, for such a change
-- alone.
create or replace function loci_internal.refuse_duplicate() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci_internal.refuse_duplicates_of(new);
    return new;
end $$;
comment on function loci_internal.refuse_duplicate() is
    'Trigger: refuse that a memory becomes current beside one that says exactly the same.';

create or replace trigger memories_duplicate before update on loci_data.memories
    for each row when (new.status = 'active' and new.valid_to is null and new.fold_scope is not null
                       and (old.status <> 'active' or old.valid_to is not null
                            or old.fold_scope is distinct from new.fold_scope
                            or old.category is distinct from new.category))
    execute function loci_internal.refuse_duplicate();

-- Refuse a memory that would be current beside another that says exactly the same, naming that one. A probe of
-- memories_fold. Errors: 23505.
create or replace function loci_internal.refuse_duplicates_of(p_memory loci_data.memories) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_other uuid;
begin
    select m.id into v_other from loci_data.memories m
    where m.namespace_id = p_memory.namespace_id and m.content_hash = p_memory.content_hash
      and m.fold_scope = p_memory.fold_scope and m.category = p_memory.category
      and m.valid_to is null and m.status = 'active' and m.id <> p_memory.id
      and p_memory.status = 'active' and p_memory.valid_to is null;
    if found then
        raise unique_violation using message = format('memory %s says exactly the same and took its place', v_other),
            column = 'id', hint = 'Forget that one first, or keep it instead.';
    end if;
end $$;
comment on function loci_internal.refuse_duplicates_of(loci_data.memories) is
    'Refuse a memory that would be current beside one that says exactly the same. Errors: 23505.';
