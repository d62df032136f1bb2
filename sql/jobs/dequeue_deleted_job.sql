-- Trigger: a job that is deleted (its namespace was, or its days are over) leaves the queue; if a worker is at it, that
-- is told to stop.
create or replace function loci_internal.dequeue_deleted_job() returns trigger
language plpgsql volatile set search_path = loci_jobs, pg_temp
as $$
begin
    delete from procrastinate_jobs q where q.id = old.queue_id and q.status <> 'doing';
    update procrastinate_jobs q set abort_requested = true where q.id = old.queue_id and q.status = 'doing';
    return null;
end $$;
comment on function loci_internal.dequeue_deleted_job() is
    'Trigger: take a deleted job off the queue.';

-- Jobs and their places in the queue keep step. Triggers of a table run in the order of their names: queue_state comes
-- after procrastinate's own.
create or replace trigger jobs_deleted after delete on loci_data.jobs
    for each row execute function loci_internal.dequeue_deleted_job();
