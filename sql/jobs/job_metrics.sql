-- How do jobs stand, as a monitor asks? For each kind: how many wait, run or are dead, and since when the first that
-- waits could have run; a row of its own (kind null) says how many workers have shown a sign of life in the last
-- p_alive seconds, and how many jobs are in the hands of one that has not. At most 100,000 are counted; one probe of
-- index jobs_state a namespace. Security definer: reads all namespaces and the queue. Errors: 42501 unless the operator
-- asks.
create or replace function loci_api.job_metrics(p_alive double precision default 30)
returns table (kind text, waiting bigint, running bigint, dead bigint, oldest timestamptz, workers bigint, lost bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_most  constant integer := 100000;
    v_since constant timestamptz := clock_timestamp() - p_alive * interval '1 second';
begin
    perform loci_internal.require_operator('ask for the figures of the service');
    return query
    with found as (
        select j.kind, j.state, greatest(j.created_at, j.due_at) as ready_at
        from loci_data.namespaces n cross join lateral (
            select o.kind, o.state, o.created_at, o.due_at from loci_data.jobs o
            where o.namespace_id = n.id and o.state in ('waiting', 'running', 'dead')) j
        limit v_most
    )
    select f.kind, count(*) filter (where f.state = 'waiting'), count(*) filter (where f.state = 'running'),
           count(*) filter (where f.state = 'dead'), min(f.ready_at)
               filter (where f.state = 'waiting' and f.ready_at <= clock_timestamp()),
           null::bigint, null::bigint
    from found f group by f.kind
    union all
    select null, null, null, null, null,
           (select count(*) from loci_jobs.procrastinate_workers w where w.last_heartbeat >= v_since),
           (select count(*) from loci_jobs.procrastinate_jobs q left join loci_jobs.procrastinate_workers w
            on w.id = q.worker_id
            where q.status = 'doing' and coalesce(w.last_heartbeat < v_since, true));
end $$;
comment on function loci_api.job_metrics(double precision) is
    'Figures of jobs for a monitor: a row for each kind with what waits, runs and is dead, and since when; a row '
    'with the number of workers and of jobs whose worker is lost. Operator only.';
