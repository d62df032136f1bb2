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
