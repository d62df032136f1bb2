-- Trigger: what becomes current again while another memory says exactly the same is refused, and the error names that
-- one. The unique index memories_fold is what guards; of two at once, the loser is told without a name. One probe of
-- that index, for such a change alone.
create or replace function loci_internal.refuse_duplicate() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_other uuid;
begin
    select m.id into v_other from loci_data.memories m
    where m.namespace_id = new.namespace_id and m.content_hash = new.content_hash and m.fold_scope = new.fold_scope
      and m.valid_to is null and m.status = 'active' and m.id <> new.id;
    if found then
        raise unique_violation using message = format('memory %s says exactly the same and took its place', v_other),
            column = 'id', hint = 'Forget that one first, or keep it instead.';
    end if;
    return new;
end $$;
comment on function loci_internal.refuse_duplicate() is
    'Trigger: refuse that a memory becomes current beside one that says exactly the same.';

create or replace trigger memories_duplicate before update on loci_data.memories
    for each row when (new.status = 'active' and new.valid_to is null and new.fold_scope is not null
                       and (old.status <> 'active' or old.valid_to is not null
                            or old.fold_scope is distinct from new.fold_scope))
    execute function loci_internal.refuse_duplicate();
