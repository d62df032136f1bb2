-- Jobs whose worker has shown no sign of life for p_lost_after seconds go back into the queue, after a pause as after a
-- failure, or are given up after p_attempts failures: one that kills each worker dies. p_worker, who asks, is alive
-- however late its own signs come, and so is who gave one while this function ran. Those that were lost together
-- are tried again one after the other, a pause apart: whichever killed the worker does not take the others with it once
-- more. Each is taken over once, whoever looks at the same moment. A job whose transaction is still open on the server
-- is left until that has ended; one that was over is only taken off the queue. Calls of models that it was in the
-- middle of end at what they usually take. Lost workers are forgotten. A sign from the future was given before the
-- clock was set back: it counts as one of now. Security definer; the operator's. Errors: 42501.
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
