-- Jobs and their places in the queue keep step. Triggers of a table run in the order of their names: queue_state comes after procrastinate's own.
create or replace trigger queue_state after update of status on loci_jobs.procrastinate_jobs
    for each row execute function loci.follow_job();
create or replace trigger jobs_deleted after delete on loci_data.jobs
    for each row execute function loci.leave_queue();
create or replace trigger jobs_turns_read after update on loci_data.jobs
    for each row when (old.finished_at is null and new.state in ('succeeded', 'dead') and new.turns_read <> '{}')
    execute function loci.clear_turns_read();
