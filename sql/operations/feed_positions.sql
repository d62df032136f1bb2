-- Positions in the change feed, given after commit; old ones are swept.

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
    v_free integer[];
begin
    moved := 0;
    if not exists (select from loci_data.outbox o order by o.id) then
        return;
    end if;
    perform from loci_data.service_locks l where l.name = 'changes' for update;
    v_free := loci_internal.lock_waiting_namespaces(p_limit);
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

-- Namespaces of the oldest p_limit changes that wait for positions, at most 500, locked for that. Where something is
-- being erased in all of them, those of the changes after. Null: there are none.
create or replace function loci_internal.lock_waiting_namespaces(p_limit integer) returns integer[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_free integer[];
    v_busy integer[] := '{}';
    v_held integer[];
begin
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
    return v_free;
end $$;
comment on function loci_internal.lock_waiting_namespaces(integer) is
    'Namespaces whose oldest changes get positions next, locked.';

-- Give all that is committed in these namespaces its position in the feed (sequence_changes), batch after batch, so
-- that a reader finds its own writes. A namespace in which something is being erased, or swept, is waited for, by this
-- reader alone: first nothing is held, then only what is free by now, and no sequencer waits. A caller that asks for
-- {*} goes on without those that stay locked as long as a statement waits for a lock, once: one namespace does not hold
-- up the others. Whatever else is committed is moved too, for ten seconds at most; more than that waits where no
-- sequencer ran, and is the next call's. p_namespaces as list_changes has it. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002, 22023 (namespaces), 55P03.
create or replace function loci_api.sequence_changes_of(p_namespaces text[] default null) returns void
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_all     boolean := p_namespaces is not distinct from '{*}';
    v_ids     integer[] := loci_internal.feed_namespaces(p_namespaces);
    v_id      integer;
    v_last    bigint;
    v_patient boolean := true;
    v_free    boolean;
begin
    select array_agg(distinct o.namespace_id), max(o.id) into v_ids, v_last
    from loci_data.outbox o where o.namespace_id = any (v_ids);
    foreach v_id in array coalesce(v_ids, '{}') loop
        begin
            v_free := loci_internal.lock_background_work(v_id, 'changes', v_patient);
            raise exception using errcode = 'LOCI0', message = 'free, and let go';
        exception
            when sqlstate 'LOCI0' then
                null;
            when lock_not_available then
                if not v_all then
                    raise;
                end if;
                v_patient := false;
                v_free := false;
        end;
        if not v_free then
            v_ids := array_remove(v_ids, v_id);
        end if;
    end loop;
    begin
        perform from loci_data.feeds f where f.namespace_id = any (v_ids) order by f.namespace_id for update;
    exception when lock_not_available then
        if not v_all then
            raise;
        end if;
    end;
    while exists (select from loci_data.outbox o where o.namespace_id = any (v_ids) and o.id <= v_last) loop
        exit when (select s.moved from loci_api.sequence_changes() s) = 0
            or clock_timestamp() > statement_timestamp() + interval '10 seconds';
    end loop;
end $$;
comment on function loci_api.sequence_changes_of(text[]) is
    'Give all committed changes of these namespaces their positions in the feed, and wait for an erasure there. '
    'Errors: 42501, P0002, 22023, 55P03.';

-- After the database was set back to an earlier moment: a reader may stand at a position that will be given out again,
-- to another change, and would miss what comes before it. With new tokens every cursor that was given out is refused
-- (24000, 410 over REST), and its reader begins anew. How many feeds there are. Rewrites a row a namespace. Security
-- invoker; for the owner.
create or replace function loci_internal.renew_feeds() returns bigint language sql volatile as $$
    with renewed as (
        update loci_data.feeds f set token = left(replace(gen_random_uuid()::text, '-', ''), 12)
        returning f.namespace_id
    )
    select count(*) from renewed
$$;
comment on function loci_internal.renew_feeds() is
    'Refuse every cursor of the change feed that was given out; the number of feeds. For the owner, after the database '
    'was set back to an earlier moment.';

-- Delete what is older in a log of swept_logs than its namespace keeps it (rows of no namespace: than the default),
-- oldest first, at most p_limit rows; how many. Rows that others hold are left for the next time; what hangs on a row
-- goes with it. One probe of the index of the log's time a namespace. Names of tables and columns come from swept_logs,
-- never from the argument. Security definer: deletes past the policies. The operator's. Errors: 42501, 22023 (log).
create or replace function loci_api.sweep_log(p_log text, p_limit integer default 1000) returns bigint
language plpgsql volatile security definer set search_path = ''
-- in the order of the index, so that a batch reads no more than itself
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
    v_log     record;
    v_deleted bigint;
begin
    perform loci_internal.require_operator('sweep the logs');
    select s.* into v_log from loci_internal.swept_logs() s where s.log = p_log;
    if not found then
        raise invalid_parameter_value using column = 'log', message = format('no log %L is swept', p_log);
    end if;
    execute format($sweep$
        with kept as materialized (
            select n.id, least(case when %4$L then date_trunc('day', clock_timestamp(), 'UTC') end,
                               clock_timestamp() - least((n.settings ->> %3$L)::double precision, 36500)
                                   * interval '24 hours') as until
            from (select m.id, loci_internal.settings(m.id) as settings from loci_data.namespaces m union all
                  select null, loci.default_settings()) n
        ), old as materialized (
            select o.place from kept k
            cross join lateral (
                select a.place from (
                    select t.ctid as place from loci_data.%1$I t
                    where t.namespace_id = k.id and t.%2$I < k.until order by t.%2$I, t.id limit $1
                    for update skip locked) a
                union all
                select a.place from (
                    select t.ctid as place from loci_data.%1$I t
                    where k.id is null and t.namespace_id is null and t.%2$I < k.until order by t.%2$I, t.id limit $1
                    for update skip locked) a) o
            limit $1
        )
        delete from loci_data.%1$I t where t.ctid = any (array(select o.place from old o))
        $sweep$, v_log.log, v_log.moment, v_log.days, v_log.keeps_today) using p_limit;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end $$;
comment on function loci_api.sweep_log(text, integer) is
    'Delete what is older in a log than its namespace keeps it, a bounded batch; how many. Operator only. Errors: '
    '42501, 22023.';

-- Which logs lose what is older than their namespace keeps it? The table, the column of its time (second in an index,
-- after the namespace), the setting that counts the days, and whether what is of today (UTC) stays whatever the
-- setting: budgets are reckoned from it. The one place to add a log. Constant.
create or replace function loci_internal.swept_logs()
returns table (log text, moment text, days text, keeps_today boolean)
language sql immutable parallel safe
as $$
    values ('recalls', 'at', 'recall_log_days', false),
           ('key_uses', 'hour', 'key_use_days', false),
           ('jobs', 'finished_at', 'job_days', false),
           ('model_calls', 'started_at', 'job_days', true),
           ('feedback_signals', 'at', 'signal_days', false)
$$;
comment on function loci_internal.swept_logs() is
    'Logs that are swept: their tables, columns of time and settings of days.';

-- The place that a change had here of a namespace that has moved to another cell since: a reader of all namespaces goes
-- on behind it. Null for any other, and for one before the last 10,000. Asked only where no feed has the token; reads a
-- row a move. Called with the owner's rights.
create or replace function loci_internal.departed_place(p_token text, p_position bigint) returns bigint
language sql stable set search_path = ''
as $$
    select m.places[cardinality(m.places) - (m.last_position - p_position)::integer]
    from loci_data.namespace_moves m
    where m.token = p_token and p_position between m.last_position - cardinality(m.places) + 1 and m.last_position
      and (loci_internal.is_operator()
           or exists (select from loci_data.grants g
                      where g.namespace_id = m.namespace_id and g.agent_id = loci.current_agent()
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                        and loci_internal.key_reaches(m.namespace_id)))
$$;
comment on function loci_internal.departed_place(text, bigint) is
    'The place that a change had of a namespace that has moved away.';
