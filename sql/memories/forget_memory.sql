-- Forget a memory, or take that back: its status changes, nothing is deleted, and what was believed before stays
-- askable with known_at. A version that is restored after others were written holds until the next of them begins; that
-- fails where one holds when it begins, or where a memory that says the same has taken its place. A version that was
-- undone, and so was never true, has the end again that it had before.
create or replace function loci_api.forget_memory(p_namespace text, p_id uuid, p_forget boolean)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_old loci_data.memories;
    v_new loci_data.memories;
    v_end timestamptz;  -- where the next version begins
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
    if not p_forget and v_old.status <> 'active' then
        perform from loci_data.lineages l where l.namespace_id = v_ns and l.lineage = v_old.lineage for no key update;
        select min(m.valid_from) into v_end from loci_data.memories m
        where m.namespace_id = v_ns and m.lineage_id = v_old.lineage_id and m.status = 'active'
          and m.valid_from > v_new.valid_from and (m.valid_to is null or m.valid_to > m.valid_from);
        if v_end < coalesce(v_new.valid_to, 'infinity') then
            v_new.valid_to := v_end;
            v_new.superseded_at := case when v_end <= v_new.updated_at then coalesce(v_new.superseded_at,
                                                                                     v_new.updated_at) end;
        end if;
    end if;
    select * into v_new from loci_internal.change_memories(v_ns, array[v_new]);
    v_at := clock_timestamp();
    return query
    select (loci.memory_record(v_new, v_at, (
        select p.parent_id from loci_internal.parent_of(v_new, v_at, null) p))).*;
end $$;
comment on function loci_api.forget_memory(text, uuid, boolean) is
    'Forget (true) or restore (false) a memory, until the next version begins; returns it. Errors: 42501, P0002, 23P01 '
    'and 23505 (its place is taken).';
