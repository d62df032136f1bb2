-- Retries of jobs: another try, resumption, cancellation.

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

-- Jobs that wait until the operator has mended something are due now, if the settings are others than those under which
-- they were refused (p_settings: their hash); how many. A worker asks when it starts. The queue's rows first, as its
-- trigger locks them. Security definer: writes past the policies; the operator's. Errors: 42501.
create or replace function loci_api.resume_jobs(p_settings text) returns integer
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
declare
    v_places bigint[];
    v_count  integer;
begin
    perform loci_internal.require_operator('run jobs');
    v_places := array(
        select q.id from procrastinate_jobs q
        where q.status = 'todo' and q.id in (
            select j.queue_id from loci_data.namespaces n cross join lateral (
                select o.queue_id from loci_data.jobs o
                where o.namespace_id = n.id and o.state = 'waiting' and o.refused_with <> p_settings) j)
        order by q.id for update);
    update procrastinate_jobs q set scheduled_at = null where q.id = any (v_places);
    update loci_data.jobs j set due_at = null, refused_with = null
    from procrastinate_jobs q
    where q.id = any (v_places) and j.namespace_id = (q.args ->> 'namespace_id')::integer
      and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;
comment on function loci_api.resume_jobs(text) is
    'Let jobs go on that were refused under other settings; how many. Operator only. Errors: 42501.';

-- Why do jobs wait for the operator? Each reason, and how many wait for it: 10 at most, the most frequent first. Index
-- jobs_state. Security definer: reads all namespaces; the operator's. Errors: 42501.
create or replace function loci_api.refused_jobs()
returns table (reason text, jobs bigint)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('ask for the figures of the service');
    return query
    select o.error, count(*)
    from loci_data.namespaces n cross join lateral (
        select j.error from loci_data.jobs j
        where j.namespace_id = n.id and j.state = 'waiting' and j.refused_with is not null) o
    group by o.error order by count(*) desc, o.error limit 10;
end $$;
comment on function loci_api.refused_jobs() is
    'Reasons for which jobs wait for the operator, and how many do. Operator only. Errors: 42501.';

-- Cancel a job: one that waits is over at once; one that runs is told to stop, and is over when it has, unless it
-- succeeds before; one that was given up is let be. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 23505 (over).
create or replace function loci_api.cancel_job(p_namespace text, p_id uuid) returns text
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_job loci_data.jobs;
begin
    loop
        select j.* into v_job from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id;
        if v_job.id is null then
            raise no_data_found using message = format('job %s does not exist', p_id), column = 'id';
        end if;
        if v_job.state = 'dead' then
            update loci_data.jobs j set state = 'cancelled'
            where j.namespace_id = v_ns and j.id = p_id and j.state = 'dead' returning j.* into v_job;
            continue when not found;  -- another retried it meanwhile
        end if;
        exit when v_job.finished_at is not null;
        -- The queue first: its trigger locks the job's row after the queue's.
        if procrastinate_cancel_job_v1(v_job.queue_id, true, false) is null then
            update loci_data.jobs j set state = 'cancelled', finished_at = clock_timestamp()  -- it had lost its place
            where j.namespace_id = v_ns and j.id = p_id and j.finished_at is null
              and not exists (select from procrastinate_jobs q where q.id = j.queue_id);
            continue when not found;  -- while this waited it ended, and may have been retried: look again
        end if;
        select j.* into v_job from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id;
        exit;
    end loop;
    if v_job.state not in ('cancelled', 'running') then
        raise unique_violation using column = 'id', message = format('job %s is over: %s', p_id, v_job.state);
    end if;
    return v_job.state;
end $$;
comment on function loci_api.cancel_job(text, uuid) is
    'Cancel a job; its state: cancelled, or running until its worker has stopped. Errors: 42501, P0002, 23505.';
