-- Trigger on the queue: what becomes of a place in it becomes of its job. The end that a job has stated itself
-- (finish_job) stands. A place that is over is deleted: the queue holds what waits or runs, the rest is history in
-- loci.jobs. The queue says "failed" of a job whose worker was lost after it was to be cancelled; it is cancelled.
-- Security definer: workers write the queue, and nothing of Loci's; procrastinate's own triggers need its path.
create or replace function loci_internal.sync_job_state() returns trigger
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
begin
    update loci_data.jobs j
    set state = s.state, due_at = new.scheduled_at, tries = j.tries + (s.state = 'running')::integer,
        started_at = case when s.state = 'running' then clock_timestamp() else j.started_at end,
        finished_at = case when s.state not in ('waiting', 'running') then clock_timestamp() end
    from (select case new.status::text when 'todo' then 'waiting' when 'doing' then 'running'
          when 'succeeded' then 'succeeded'
                                       when 'failed' then case when old.abort_requested then 'cancelled' else 'dead' end
                                       else 'cancelled' end as state) s
    where j.namespace_id = (new.args ->> 'namespace_id')::integer and j.id = (new.args ->> 'job_id')::uuid
      and j.queue_id = new.id
      and j.finished_at is null and j.state <> s.state;
    if new.status not in ('todo', 'doing') then
        delete from procrastinate_jobs q where q.id = new.id;
    end if;
    return null;
end $$;
comment on function loci_internal.sync_job_state() is
    'Trigger: the state of a place in the queue becomes that of its job.';

-- Jobs and their places in the queue keep step. Triggers of a table run in the order of their names: queue_state comes
-- after procrastinate's own.
create or replace trigger queue_state after update of status on loci_jobs.procrastinate_jobs
    for each row execute function loci_internal.sync_job_state();
