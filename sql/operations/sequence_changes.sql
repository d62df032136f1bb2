-- Give committed changes their positions in the feed: whatever of the outbox this statement sees, in the order of
-- writing. One at a time (a row lock held to the end of the transaction), so positions become visible in their order.
-- A change is written and committed after those that it rests on, so the same snapshot or an earlier one sees these:
-- no change stands before one that it rests on, nobody waits for another's long transaction, and a late commit is not
-- passed over. See docs/design/operations.md. A namespace in which something is being erased is left for
-- later (a reader waits for its own: sequence_changes_of); nothing is waited for but another sequencer. Index
-- outbox_id. Returns how many moved. Tells nobody: readers look at feeds (loci_api.grown_feeds).
create or replace function loci_api.sequence_changes(p_limit integer default 10000, out moved bigint)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_free  integer[];
    v_busy  integer[] := '{}';
    v_held  integer[];
begin
    moved := 0;
    if not exists (select from loci_data.outbox o order by o.id) then
        return;
    end if;
    perform from loci_data.service_locks l where l.name = 'changes' for update;
    loop
        select array_agg(w.namespace_id) filter (where w.free),
               array_agg(w.namespace_id) filter (where not w.free) into v_free, v_held
        from (select f.namespace_id, loci_internal.lock_background_work(f.namespace_id, 'changes', false) as free
              from (select o.namespace_id from (select o.namespace_id, o.id from loci_data.outbox o
                                                where o.namespace_id <> all (v_busy) order by o.id limit p_limit) o
                    group by o.namespace_id order by min(o.id) limit 500) f offset 0) w;
        exit when v_free is not null or v_held is null;
        v_busy := v_busy || v_held;
    end loop;
    with taken as (
        delete from loci_data.outbox o
        where o.ctid = any (array(select w.ctid from loci_data.outbox w where w.namespace_id = any (v_free)
                                  order by w.id limit p_limit))
        returning o.*
    ), placed as (
        insert into loci_data.changes (namespace_id, position, place, operation_id, kind, action, subject_id, before,
                                       after, changed_at)
        select t.namespace_id, f.last_position + t.nth, t.place, t.operation_id, t.kind, t.action, t.subject_id,
               t.before, t.after, t.changed_at
        from (select s.*, nextval('loci_data.change_places') as place
              from (select k.*, row_number() over (partition by k.namespace_id order by k.id) as nth
                    from taken k order by k.id) s) t
        join loci_data.feeds f on f.namespace_id = t.namespace_id
        returning namespace_id, operation_id, kind, action, position, place
    ), counted as (
        insert into loci_data.operation_counts as c (namespace_id, operation_id, kind, action, count)
        select p.namespace_id, p.operation_id, p.kind, p.action, count(*) from placed p group by 1, 2, 3, 4
        order by 1, 2, 3, 4
        on conflict (namespace_id, operation_id, kind, action) do update set count = c.count + excluded.count
    ), reached as (
        update loci_data.feeds f set last_position = p.last_position, last_place = p.last_place
        from (select p.namespace_id, max(p.position) as last_position, max(p.place) as last_place
              from placed p group by p.namespace_id) p
        where f.namespace_id = p.namespace_id
    )
    select count(*) into moved from placed p;
end $$;
comment on function loci_api.sequence_changes(integer) is
    'Move committed changes from the outbox into the feed; how many.';
