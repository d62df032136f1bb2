-- Cancel a job: one that waits is over at once; one that runs is told to stop, and is over when it has, unless it
-- succeeds before. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 23505
-- (over).
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
