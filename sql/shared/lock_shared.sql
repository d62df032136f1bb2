-- Lock something of a namespace for this transaction, together with others, against who wants it alone (lock_alone):
-- any one of its rows from 1 on that is free. Where none is, somebody has it alone, or waits for it, or there are as
-- many sharers as rows: p_wait waits for one; otherwise it says false. A row is locked for update, not shared: a
-- shared lock of a row lets others join it past one who waits for it alone, for ever. One range of a primary key.
create or replace function loci_internal.lock_shared(p_namespace_id integer, p_name text, p_wait boolean default true)
returns boolean
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
begin
    perform from loci_data.namespace_locks l where l.namespace_id = p_namespace_id and l.name = p_name
        and l.slot > 0 order by l.slot limit 1 for update skip locked;
    if found or not p_wait then
        return found;
    end if;
    perform from loci_data.namespace_locks l
    where l.namespace_id = p_namespace_id and l.name = p_name
      and l.slot = 1 + pg_backend_pid() % loci_internal.lock_slots()
    for update;
    return found;
end $$;
comment on function loci_internal.lock_shared(integer, text, boolean) is
    'Lock something of a namespace for this transaction, shared; whether it could, where it does not wait.';
