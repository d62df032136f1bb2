-- Give committed changes their positions in the feed: whatever of the outbox this statement sees, in the order of
-- writing. One at a time (an advisory lock held to the end of the transaction), so positions become visible in their
-- order. What a change rests on was written before it and committed before it, so it is seen by the same snapshot or an
-- earlier one: no change stands before one that it rests on, nobody waits for another's long transaction, and a late
-- commit is not passed over. See docs/decisions. A namespace in which something is being erased is left for later;
-- nothing is waited for but another sequencer. Index outbox_id. Returns how many moved and the last position. Wakes
-- readers: NOTIFY loci_changes, {"last": position, "namespaces": [ids]}.
create or replace function loci_api.sequence_changes(p_limit integer default 10000)
returns table (moved bigint, last_position bigint)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_free integer[];
    v_busy integer[] := '{}';
    v_held integer[];
begin
    moved := 0;
    if exists (select from loci_data.outbox o order by o.id) then
        perform pg_advisory_xact_lock(hashtextextended('loci_data.changes', 0));
        loop
            select array_agg(w.namespace_id) filter (where w.free),
                   array_agg(w.namespace_id) filter (where not w.free) into v_free, v_held
            from (select f.namespace_id, loci_internal.lock_background_work(f.namespace_id, 'changes', false) as free
                  from (select o.namespace_id from (select o.namespace_id, o.id from loci_data.outbox o
                                                    where o.namespace_id <> all (v_busy) order by o.id limit p_limit) o
                        -- locks and the notice have their room
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
            insert into loci_data.changes (namespace_id, position, operation_id, kind, action, subject_id, before,
                                           after, changed_at)
            select t.namespace_id, nextval('loci_data.change_positions'), t.operation_id, t.kind, t.action,
                   t.subject_id, t.before, t.after, t.changed_at
            from (select * from taken order by id) t
            returning namespace_id, operation_id, kind, action, position
        ), counted as (
            insert into loci_data.operation_counts as c (namespace_id, operation_id, kind, action, count)
            select p.namespace_id, p.operation_id, p.kind, p.action, count(*) from placed p group by 1, 2, 3, 4
            order by 1, 2, 3, 4
            on conflict (namespace_id, operation_id, kind, action) do update set count = c.count + excluded.count
        )
        select count(*), max(p.position) into moved, last_position from placed p;
        if moved > 0 then
            perform pg_notify('loci_changes', json_build_object('last', last_position, 'namespaces', v_free)::text);
        end if;
    end if;
    return next;
end $$;
comment on function loci_api.sequence_changes(integer) is
    'Move committed changes from the outbox into the feed and wake its readers (NOTIFY loci_changes); how many, and '
    'the last position.';
