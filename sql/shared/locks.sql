-- Locks: alone, shared, in turn, for background work, by namespace.

-- Lock something of a namespace for this transaction alone: whoever holds it shared (lock_shared) is waited for, and
-- who comes later waits. Row locks in loci_data.namespace_locks, which no login but the owner's functions can take:
-- row 0, where exclusive callers queue; then all free rows at once, so that no later caller overtakes; then the others
-- as they become free. Without p_wait: only if all are free now; says whether it is locked.
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

-- Keep those who work through what was written and those who erase apart in a namespace. 'changes': what has no
-- position in the feed yet must not move past an erasure, and the sequencer locks rows in another order than a
-- namespace's cascades do. 'worker': what the worker has claimed it holds in its memory, with the words of the turns
-- around it. Alone waits for the batches under way and holds off new ones; otherwise it never waits, and says whether
-- it may. Held to the end of the transaction. A sequencer is alone in the feed too: it locks and changes the row of
-- feeds.
create or replace function loci_internal.lock_background_work(p_namespace_id integer, p_work text, p_alone boolean)
returns boolean
language plpgsql volatile set search_path = ''
as $$
begin
    if p_work = 'worker' then
        return case when p_alone then loci_internal.lock_alone(p_namespace_id, p_work)
               else loci_internal.lock_shared(p_namespace_id, p_work, false) end;
    elsif p_alone then
        perform from loci_data.feeds f where f.namespace_id = p_namespace_id for update;
        return true;
    end if;
    perform from loci_data.feeds f where f.namespace_id = p_namespace_id for update skip locked;
    return found;
end $$;
comment on function loci_internal.lock_background_work(integer, text, boolean) is
    'Lock the feed (changes) or the background work (worker) of a namespace for this transaction: alone (waits) or '
    'as far as it is free (tries).';

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

-- Trigger: what is locked in a namespace, alone or shared, has its rows from the beginning, its feed too. So has each
-- version of its rates of decay (lock_decay_rates).
create or replace function loci_internal.make_namespace_locks() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    if tg_op = 'INSERT' then
        insert into loci_data.feeds (namespace_id) values (new.id) on conflict do nothing;
    end if;
    insert into loci_data.namespace_locks (namespace_id, name, slot)
    select new.id, k.name, s.slot
    from unnest(case when tg_op = 'INSERT' then array['hierarchy', 'postings', 'worker'] end
                || format('rates %s', new.rates_version)) k(name)
    cross join generate_series(0, loci_internal.lock_slots()) s(slot)
    on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.make_namespace_locks() is
    'Trigger: make the rows by which things of a namespace are locked.';

-- How many may hold something of a namespace together: each thing has as many rows, and row 0.
create or replace function loci_internal.lock_slots() returns integer
language sql immutable parallel safe
return 16;
comment on function loci_internal.lock_slots() is
    'How many transactions may hold a lock of a namespace together.';

create or replace trigger namespaces_locks after insert on loci_data.namespaces
    for each row execute function loci_internal.make_namespace_locks();

create or replace trigger namespaces_rates after update of rates_version on loci_data.namespaces
    for each row when (new.rates_version <> old.rates_version) execute function loci_internal.make_namespace_locks();

-- Wait for this transaction's turn at something of a namespace that one does at a time; held to its end. A second
-- taker of the same turn inserts the same key and waits for this transaction, which leaves no row behind.
-- So writers can take turns at any key, and only the owner's functions can hold one. An insert and a delete in
-- loci_data.turn_locks.
create or replace function loci_internal.take_turn(p_namespace_id integer, p_at text) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at bytea := sha256(convert_to(p_at, 'UTF8'));
begin
    insert into loci_data.turn_locks (namespace_id, at) values (p_namespace_id, v_at);
    delete from loci_data.turn_locks t where t.namespace_id = p_namespace_id and t.at = v_at;
end $$;
comment on function loci_internal.take_turn(integer, text) is
    'Wait for the turn at something of a namespace, to the end of the transaction.';
