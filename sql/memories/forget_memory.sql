-- Forget a memory, or take that back: its status changes, nothing is deleted, and what was believed before stays
-- askable with known_at. Restoring fails where a later version, or a memory that says the same, has taken its place; a
-- version that was undone, and so was never true, has the end again that it had before.
create or replace function loci_api.forget_memory(p_namespace text, p_id uuid, p_forget boolean)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_old loci_data.memories;
    v_new loci_data.memories;
    v_at  timestamptz;  -- a volatile argument would keep memory_record from being inlined: a call a column
begin
    select * into v_old from loci_data.memories where namespace_id = v_ns and id = p_id for no key update;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    v_new := v_old;
    v_new.status := case when p_forget then 'forgotten' else 'active' end;
    if v_new.status <> v_old.status then
        v_new.updated_at := clock_timestamp();
    end if;
    if not p_forget and v_old.status <> 'active' and v_old.valid_to = v_old.valid_from then
        v_new.valid_to := nullif(coalesce((select coalesce(b.valid_to, 'infinity') from loci_data.memory_beliefs b
                                           where b.namespace_id = v_ns and b.memory_id = p_id
                                             and b.believed_to = v_old.believed_at), v_old.valid_to), 'infinity');
    end if;
    select * into v_new from loci_internal.change_memories(v_ns, array[v_new]);
    v_at := clock_timestamp();
    return query
    select (loci.memory_record(v_new, v_at, (
        select p.parent_id from loci_internal.parent_of(v_new, v_at, null) p))).*;
end $$;
comment on function loci_api.forget_memory(text, uuid, boolean) is
    'Forget (true) or restore (false) a memory; returns it. Errors: 42501, P0002, 23P01 and 23505 (its place is '
    'taken).';
