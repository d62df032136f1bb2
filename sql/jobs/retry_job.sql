-- Try a job again that died, was cancelled or skipped: it gets a new place in the queue. One that waits for its next
-- try, or was put off, is due now, in its own place. Either has all its tries again, and passes that it has finished
-- are not run again. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 23505
-- (it runs or has succeeded), 40001 (another retried it at this moment).
create or replace function loci_api.retry_job(p_namespace text, p_id uuid) returns void
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_place bigint := (select j.queue_id from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id);
    v_job   loci_data.jobs;
begin
    -- The queue first: its trigger locks the job's row after the queue's. The job itself is looked up only then.
    perform from procrastinate_jobs q where q.id = v_place for update;
    select j.* into v_job from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id for update;
    if v_job.id is null then
        raise no_data_found using message = format('job %s does not exist', p_id), column = 'id';
    elsif v_job.queue_id is distinct from v_place then  -- it ended, and another retried it meanwhile
        raise serialization_failure using hint = 'Try again.',
            message = format('job %s is being retried by another request', p_id);
    elsif v_job.state = 'waiting' and exists (select from procrastinate_jobs q where q.id = v_place) then
        update procrastinate_jobs q
        set scheduled_at = null, priority = greatest(q.priority, -extract(epoch from clock_timestamp()
                                                                 - timestamptz '2020-01-01 00:00+00')::integer)
        where q.id = v_place and q.status = 'todo' and q.scheduled_at is not null;
        update loci_data.jobs j set due_at = null, failures = 0, postponed = 0, refused_with = null
        where j.namespace_id = v_ns and j.id = p_id;
        return;
    elsif v_job.state not in ('waiting', 'dead', 'cancelled', 'skipped') then
        raise unique_violation using column = 'id',
            message = format('job %s cannot be tried again: it is %s', p_id, v_job.state),
            hint = 'Jobs that wait, or are dead, cancelled or skipped can.';
    end if;
    update loci_data.jobs j
    set state = 'waiting', finished_at = null, result = null, due_at = null, failures = 0, postponed = 0, key = null,
        queue_id = null, refused_with = null
    where j.namespace_id = v_ns and j.id = p_id;
    perform loci_internal.queue_job(v_ns, p_id);
end $$;
comment on function loci_api.retry_job(text, uuid) is
    'Put a job that is dead, cancelled or skipped into the queue again; let one that waits run now. Errors: 42501, '
    'P0002, 23505, 40001.';
