-- Give a job its place in the queue: a row of procrastinate's, with the job's number and nothing of what it is about. Who asks for many stands
-- behind who asks for one: a job's turn is now, and a second at least after that of the job before it of the same namespace and kind, if
-- that is open. The queue takes the earliest (priority: minus the seconds since 2020). So jobs of a namespace that asked for a thousand at
-- once are passed by those of others; they keep their order, and none is passed for longer than it has jobs before it, in seconds. A job that is
-- put off stands where it would if it were asked for when it is due, so it holds up nobody of its turn meanwhile.
-- One probe of index jobs_open. Called by add_job and retry_job; internal.
create or replace function loci.queue_job(p_namespace_id integer, p_id uuid) returns void
language plpgsql volatile set search_path = loci_jobs, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_job   loci_data.jobs;
    v_after integer;
begin
    select j.* into v_job from loci_data.jobs j where j.namespace_id = p_namespace_id and j.id = p_id;
    select q.priority into v_after
    from (select j.queue_id from loci_data.jobs j
          where j.namespace_id = p_namespace_id and j.kind = v_job.kind and j.finished_at is null and j.queue_id is not null
            and (j.due_at is null or j.due_at <= clock_timestamp())
          order by j.queue_id desc limit 1) last
    join procrastinate_jobs q on q.id = last.queue_id;
    update loci_data.jobs j set queue_id = (
        procrastinate_defer_jobs_v1(array[(
            'loci', 'loci.run', least(-extract(epoch from greatest(clock_timestamp(), v_job.due_at) - timestamptz '2020-01-01 00:00+00')::integer, v_after - 1),
            p_namespace_id::text || '/' || v_job.turn, null,
            jsonb_build_object('namespace_id', p_namespace_id, 'job_id', p_id), v_job.due_at)::procrastinate_job_to_defer_v1]))[1]
    where j.namespace_id = p_namespace_id and j.id = p_id;
end $$;
comment on function loci.queue_job(integer, uuid) is 'Put a job into the queue. Internal.';
