-- Runs of jobs: start, progress, failure, end, and jobs of dead workers.

-- What is the job of a place in the queue that a worker has taken, as its p_attempt-th try? No row: it is gone or over,
-- or another worker has taken it since, and there is nothing to do. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.start_job(p_queue_id bigint, p_attempt integer)
returns table (namespace_id integer, id uuid, namespace text, kind text, arguments jsonb, tries integer,
               failures integer, postponed integer, agent_id uuid, created_at timestamptz, settings jsonb)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform loci_internal.require_operator('run jobs');
    return query
    select n.id, j.id, n.name, j.kind, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at,
           loci_internal.settings(n.id)
    from loci_jobs.procrastinate_jobs q
    join loci_data.jobs j on j.namespace_id = (q.args ->> 'namespace_id')::integer
         and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id
    join loci_data.namespaces n on n.id = j.namespace_id
    where q.id = p_queue_id and q.status = 'doing' and q.attempts = p_attempt and j.finished_at is null;
end $$;
comment on function loci_api.start_job(bigint, integer) is
    'The job that was taken off the queue; no row: nothing is to be done. Operator only. Errors: 42501.';

-- A job is over, and says so in the transaction of its work: both are there or neither. p_state: succeeded, or skipped
-- with why (p_error). What was given up before and asked for the same is done by success: it is skipped, unless
-- somebody retries it at this moment. Index jobs_state. Security definer; checks the caller itself. Errors: 42501,
-- P0002, 55000 (over), 22023.
create or replace function loci_api.finish_job(p_namespace text, p_id uuid, p_result jsonb default null,
                                               p_state text default 'succeeded', p_error text default null)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    if p_state is null or p_state not in ('succeeded', 'skipped') then
        raise invalid_parameter_value using column = 'state',
            message = format('state must be succeeded or skipped, not %L', p_state);
    end if;
    perform loci_api.lock_job(p_namespace, p_id);
    update loci_data.jobs j set state = p_state, finished_at = clock_timestamp(), result = p_result, error = p_error,
        due_at = null
    where j.namespace_id = v_ns and j.id = p_id;
    if p_state = 'succeeded' then
        update loci_data.jobs j set state = 'skipped'
        where j.namespace_id = v_ns and j.id in (
            select dead.id
            from loci_data.jobs dead
            join loci_data.jobs done on done.namespace_id = dead.namespace_id and done.kind = dead.kind
                 and done.arguments - 'scheduled' = dead.arguments - 'scheduled'
            where dead.namespace_id = v_ns and dead.state = 'dead' and dead.id < p_id and done.id = p_id
            for update of dead skip locked);
    end if;
end $$;
comment on function loci_api.finish_job(text, uuid, jsonb, text, text) is
    'Say that a job is over and what it did. Errors: 42501, P0002, 55000, 22023.';

-- The transaction that follows does the work of this job, and nobody else does: the job's row is locked until it ends,
-- and refused if the job ended meanwhile, or began another try (p_try) because its worker seemed dead. Erasures, and
-- the end of the namespace, wait for it, as it does for them. Security definer; the operator's. Errors: 42501, P0002,
-- 55000 (over, gone, or taken over).
create or replace function loci_api.lock_job(p_namespace text, p_id uuid, p_try integer default null) returns void
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_job loci_data.jobs;
begin
    -- see lock_background_work, which does not wait
    perform loci_internal.lock_shared(v_ns, 'worker');
    select j.* into v_job from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id for update;
    if v_job.id is null or v_job.finished_at is not null then
        raise object_not_in_prerequisite_state
            using message = format('job %s is over: %s', p_id, coalesce(v_job.state, 'deleted'));
    elsif v_job.tries <> p_try then
        raise object_not_in_prerequisite_state using message = format('job %s was taken over by another worker', p_id);
    end if;
end $$;
comment on function loci_api.lock_job(text, uuid, integer) is
    'Lock a job for the transaction that does its work. Errors: 42501, P0002, 55000.';

-- Note why a try of a job came to nothing: it failed, or it was put off (p_postponed). The queue decides when it is
-- tried again. p_refused_with: a hash of the settings, where the operator has to mend something before it can be done
-- (resume_jobs). Returns how often it has failed, or was put off; no row: it is gone or over, or another worker has
-- taken it since. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.record_job_failure(p_queue_id bigint, p_attempt integer, p_error text,
                                                       p_postponed boolean default false,
                                                       p_refused_with text default null)
returns table (failures integer, postponed integer)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform loci_internal.require_operator('run jobs');
    return query
    update loci_data.jobs j set error = left(p_error, 2000), failures = j.failures + (not p_postponed)::integer,
                                postponed = j.postponed + p_postponed::integer, refused_with = p_refused_with
    from loci_jobs.procrastinate_jobs q
    where q.id = p_queue_id and q.status = 'doing' and q.attempts = p_attempt
      and j.namespace_id = (q.args ->> 'namespace_id')::integer
      and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id and j.finished_at is null
    returning j.failures, j.postponed;
end $$;
comment on function loci_api.record_job_failure(bigint, integer, text, boolean, text) is
    'Note why a try of a job failed or was put off; how often. Operator only. Errors: 42501.';

-- How far a job is, while it runs: p_progress stands as its result until it is over. Refused as lock_job refuses, so
-- that a job which was cancelled or taken over stops. Security definer; the operator's. Errors: 42501, P0002, 55000.
create or replace function loci_api.report_job_progress(p_namespace text, p_id uuid, p_try integer, p_progress jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_api.lock_job(p_namespace, p_id, p_try);
    update loci_data.jobs j set result = p_progress where j.namespace_id = v_ns and j.id = p_id;
end $$;
comment on function loci_api.report_job_progress(text, uuid, integer, jsonb) is
    'Say how far a job is. Errors: 42501, P0002, 55000.';

-- Jobs whose worker has shown no sign of life for p_lost_after seconds go back into the queue, after a pause as after a
-- failure, or are given up after p_attempts failures: one that kills each worker dies. p_worker, who asks, is alive
-- however late its own signs come, and so is who gave one while this function ran. Those that were lost together
-- are tried again one after the other, a pause apart: whichever killed the worker does not take the others with it once
-- more. Each is taken over once, also when several look at once. A job whose transaction is still open on the server is
-- left until that has ended; one that was over is only taken off the queue. Its running calls of models end with the
-- usual usage. Lost workers are forgotten. A sign from the future was given before the clock was set back: it counts as
-- one of now. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.take_over_jobs(
    p_worker bigint, p_lost_after double precision, p_attempts integer, p_backoff double precision default 10,
    p_backoff_limit double precision default 3600)
returns table (id uuid, kind text, dead boolean)
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
declare
    v_since constant timestamptz := clock_timestamp() - p_lost_after * interval '1 second';  -- before any sign is read
    v_place record;
    v_job   loci_data.jobs;
    v_lost  integer := 0;  -- that are to be tried again
begin
    perform loci_internal.require_operator('run jobs');
    update procrastinate_workers w set last_heartbeat = clock_timestamp()
    where w.last_heartbeat > v_since + 2 * p_lost_after * interval '1 second';
    for v_place in
        select q.id, (q.args ->> 'namespace_id')::integer as namespace_id, (q.args ->> 'job_id')::uuid as job_id
        from procrastinate_jobs q left join procrastinate_workers w on w.id = q.worker_id
        where q.status = 'doing' and (w.id is null or w.id is distinct from p_worker and w.last_heartbeat < v_since)
        order by q.id for update of q skip locked
    loop
        begin
            select j.* into v_job from loci_data.jobs j
            where j.namespace_id = v_place.namespace_id and j.id = v_place.job_id and j.queue_id = v_place.id
            for update nowait;
        exception when lock_not_available then
            continue;
        end;
        if v_job.id is null or v_job.finished_at is not null then
            perform procrastinate_finish_job_v1(v_place.id, 'succeeded', false);
            continue;
        end if;
        update loci_data.jobs j set failures = j.failures + 1, error = 'its worker was lost'
        where j.namespace_id = v_job.namespace_id and j.id = v_job.id returning j.* into v_job;
        perform loci_internal.settle_lost_calls(array[v_job.namespace_id], v_job.id);
        dead := v_job.failures >= p_attempts;
        if dead then
            perform procrastinate_finish_job_v1(v_place.id, 'failed', false);
        else
            v_lost := v_lost + 1;
            perform procrastinate_retry_job_v2(v_place.id, clock_timestamp()
                + v_lost * least(p_backoff * 3.0 ^ least(v_job.failures - 1, 100), p_backoff_limit)
                    * interval '1 second', null, null, null);
        end if;
        id := v_job.id;
        kind := v_job.kind;
        return next;
    end loop;
    delete from procrastinate_workers w where w.id is distinct from p_worker and w.last_heartbeat < v_since;
end $$;
comment on function loci_api.take_over_jobs(bigint, double precision, integer, double precision, double precision) is
    'Give jobs of workers that show no sign of life back to the queue, or up. Operator only. Errors: 42501.';
