-- Lock something of a namespace for this transaction alone: whoever holds it shared (lock_shared) is waited for, and
-- who comes later waits. Row locks in loci_data.namespace_locks, which no login but the owner's functions can take:
-- row 0, which those who want it alone wait for each other at, then at once all that are free, so that nobody who
-- comes later gets past, then the others as they become free. Without p_wait: only if all are free now; says whether
-- it is locked.
create or replace function loci_internal.lock_alone(p_namespace_id integer, p_name text, p_wait boolean default true)
returns boolean
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_free integer;
begin
    if p_wait then
        perform from loci_data.namespace_locks l
        where l.namespace_id = p_namespace_id and l.name = p_name and l.slot = 0 for update;
    end if;
    select count(*) into v_free
    from (select from loci_data.namespace_locks l where l.namespace_id = p_namespace_id and l.name = p_name
          order by l.slot for update skip locked) f;
    if p_wait then
        perform from loci_data.namespace_locks l where l.namespace_id = p_namespace_id and l.name = p_name
            order by l.slot for update;
        return true;
    end if;
    return v_free > 0 and v_free = (select count(*) from loci_data.namespace_locks l
                     where l.namespace_id = p_namespace_id and l.name = p_name);
end $$;
comment on function loci_internal.lock_alone(integer, text, boolean) is
    'Lock something of a namespace for this transaction, alone; whether it could, where it does not wait.';
