-- Jobs as they are read, and their metrics.

-- A job: how it stands, the reports of its passes in their order, and what its calls of a language model took. Primary
-- key, pass_runs_job_key, model_calls_job. Security definer: read past the policies; checks the caller itself. Errors:
-- 42501, P0002.
create or replace function loci.get_job(p_namespace text, p_id uuid)
returns table (id uuid, kind text, state text, arguments jsonb, tries integer, failures integer, postponed integer,
               agent_id uuid, created_at timestamptz, due_at timestamptz, started_at timestamptz,
               finished_at timestamptz, error text, result jsonb, passes jsonb, calls jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select j.id, j.kind, j.state, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at, j.due_at,
           j.started_at, j.finished_at, j.error, j.result,
           (select coalesce(jsonb_agg(to_jsonb(r) - array['namespace_id', 'job_id', 'corpus', 'shown'] order by r.id),
                            '[]')
            from loci_data.pass_runs r where r.namespace_id = v_ns and r.job_id = p_id),
           (select jsonb_build_object('calls', count(*), 'prompt_tokens', coalesce(sum(c.prompt_tokens), 0),
                                      'completion_tokens', coalesce(sum(c.completion_tokens), 0), 'cost',
                                          coalesce(sum(c.cost), 0),
                                      'took_ms', coalesce(sum(c.took_ms), 0))
            from loci_data.model_calls c where c.namespace_id = v_ns and c.job_id = p_id)
    from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id;
    if not found then
        raise no_data_found using message = format('job %s does not exist', p_id), column = 'id',
            hint = 'Jobs are kept for the setting job_days after their end.';
    end if;
end $$;
comment on function loci.get_job(text, uuid) is
    'A job with the reports of its passes and what its calls of a language model took. Errors: 42501, P0002.';

-- What was left for later in a namespace, and what became of it? Jobs, newest first, a page at a time: p_cursor is the
-- id of the last one of the page before. By state and kind. Primary key, jobs_state or jobs_kind, whichever the
-- question is about: it is planned for each call. Security definer: read past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, state).
create or replace function loci.list_jobs(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_state text default null,
    p_kind text default null)
returns table (id uuid, kind text, state text, arguments jsonb, tries integer, failures integer, postponed integer,
               agent_id uuid, created_at timestamptz, due_at timestamptz, started_at timestamptz,
               finished_at timestamptz, error text, result jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_bound uuid := coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
    perform loci_internal.check_page(p_limit);
    if p_state not in ('waiting', 'running', 'succeeded', 'dead', 'cancelled', 'skipped') then
        raise invalid_parameter_value using column = 'state',
            message = format('state must be waiting, running, succeeded, dead, cancelled or skipped, not %L', p_state);
    end if;
    return query
    select j.id, j.kind, j.state, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at, j.due_at,
           j.started_at, j.finished_at, j.error, j.result
    from loci_data.jobs j
    where j.namespace_id = v_ns and j.id < v_bound and (p_state is null or j.state = p_state)
      and (p_kind is null or j.kind = p_kind)
    order by j.id desc limit p_limit;
end $$;
comment on function loci.list_jobs(text, integer, uuid, text, text) is
    'Jobs of a namespace, newest first, by state and kind; the id of the last one pages. Errors: 42501, P0002, 22023.';

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
