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
