-- Forget a memory, or take that back: its status changes, nothing is deleted, and what was believed before stays
-- askable with known_at. Restoring fails where a later version, or a memory that says the same, has taken its place; a
-- version that was undone, and so was never true, has the end again that it had before.
create or replace function loci_api.forget_memory(p_namespace text, p_id uuid, p_forget boolean)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query
    update loci_data.memories m
    set status = case when p_forget then 'forgotten' else 'active' end, updated_at = clock_timestamp(),
        valid_to = case when p_forget or m.status = 'active' or m.valid_to is distinct from m.valid_from then m.valid_to
            else nullif(coalesce((select coalesce(b.valid_to, 'infinity') from loci_data.memory_beliefs b
                                  where b.namespace_id = v_ns and b.memory_id = p_id
                                    and b.believed_to = m.believed_at), m.valid_to), 'infinity') end
    where m.namespace_id = v_ns and m.id = p_id
    returning (loci.memory_record(m, clock_timestamp(),
                                  (select p.parent_id from loci_internal.parent_of(m, clock_timestamp(), null) p))).*;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci_api.forget_memory(text, uuid, boolean) is
    'Forget (true) or restore (false) a memory; returns it. Errors: 42501, P0002, 23P01 and 23505 (its place is '
    'taken).';
