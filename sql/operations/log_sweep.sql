-- Sweeping the operations log and the change feed: what is older than a namespace's settings goes.

-- Delete the oldest changes of a namespace's feed that were made before a moment, at most p_limit, and note up to which
-- position.
create or replace function loci_internal.sweep_changes(p_namespace_id integer, p_before timestamptz, p_limit bigint)
returns bigint
language plpgsql volatile set search_path = ''
as $$
declare
    v_gone  bigint;
    v_last  bigint;
    v_place bigint;
begin
    with oldest as materialized (
        select c.position, c.changed_at from loci_data.changes c where c.namespace_id = p_namespace_id
        order by c.position limit p_limit
    ), gone as (
        delete from loci_data.changes c
        where c.namespace_id = p_namespace_id and c.position = any (array(
            select o.position from oldest o
            where o.position < coalesce((select min(k.position) from oldest k
                                         where k.changed_at >= p_before), o.position + 1)))
        returning c.position, c.place
    )
    select count(*), max(g.position), max(g.place) into v_gone, v_last, v_place from gone g;
    if v_gone > 0 then
        update loci_data.feeds f set swept_position = v_last, swept_place = v_place
        where f.namespace_id = p_namespace_id;
    end if;
    return v_gone;
end $$;
comment on function loci_internal.sweep_changes(integer, timestamptz, bigint) is
    'Delete the oldest changes of a feed.';

-- Delete changes past their namespace's change_days, oldest first, and operations past operation_days of which no
-- change is kept; at most p_limit of each, and how many. Feeds remember up to which position they are gone
-- (swept_position), so that a reader who is further behind is told. Changes go in the order of their positions up to
-- the first that is kept: what a long transaction wrote early waits for it. Sweeps take turns. A namespace in which
-- something is being erased is left for later, and erasures wait for a sweep: some 50 ms for 10,000. One probe of a
-- primary key a namespace where there is nothing to do. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.sweep_operations(p_limit integer default 1000)
returns table (changes bigint, operations bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_now  timestamptz := clock_timestamp();
    v_gone bigint;
    v_ns   record;
begin
    perform loci_internal.require_operator('sweep the log');
    perform from loci_data.service_locks l where l.name = 'sweep' for update;
    changes := 0;
    operations := 0;
    for v_ns in
        select n.id, v_now - s.change_days as changes_before,
               v_now - greatest(s.change_days, s.operation_days) as operations_before
        from loci_data.namespaces n
        cross join lateral (select least((d.given ->> 'change_days')::double precision, 36500)
                            * interval '24 hours' as change_days,
                                   least((d.given ->> 'operation_days')::double precision, 36500)
                                       * interval '24 hours' as operation_days
                            from (select loci_internal.settings(n.id) as given offset 0) d) s
        order by n.id
    loop
        if changes < p_limit and v_ns.changes_before > (select c.changed_at from loci_data.changes c
                                                        where c.namespace_id = v_ns.id order by c.position limit 1)
           and loci_internal.lock_background_work(v_ns.id, 'changes', false) then
            changes := changes + loci_internal.sweep_changes(v_ns.id, v_ns.changes_before,
                                                              p_limit - changes);
        end if;
        delete from loci_data.operations o
        where o.namespace_id = v_ns.id and o.id = any (array(
            select p.id from loci_data.operations p
            where p.namespace_id = v_ns.id and p.started_at < v_ns.operations_before
              and not exists (select from loci_data.changes c where c.namespace_id = v_ns.id and c.operation_id = p.id)
            order by p.started_at, p.id limit p_limit - operations));
        get diagnostics v_gone = row_count;
        operations := operations + v_gone;
    end loop;
    return next;
end $$;
comment on function loci_api.sweep_operations(integer) is
    'Delete changes past change_days and operations past operation_days of their namespaces, a bounded batch; how '
    'many. Operator only.';
