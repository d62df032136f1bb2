-- Trigger: a job that learned from turns of conversation has ended, well or not: they leave the log, exactly those. Not
-- after a dry run, nor when it was cancelled or skipped. A job that succeeds ends in a transaction that says what it
-- is; one that dies ends in the queue's own, which knows nothing of namespaces: the operations log then has it as the
-- worker's, too.
create or replace function loci_internal.clear_turns_of_ended_job() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    if coalesce(new.arguments ->> 'dry_run', 'false') <> 'true' then
        if coalesce(current_setting('loci.origin', true), '') = '' then
            perform set_config('loci.agent', loci_internal.operator_id()::text, true),
                    set_config('loci.origin', jsonb_build_object('action', new.kind, 'via', 'worker')::text, true);
        end if;
        perform loci_internal.clear_turns(new.namespace_id, new.turns_read);
    end if;
    return null;
end $$;
comment on function loci_internal.clear_turns_of_ended_job() is
    'Trigger: turns that an ended job has learned from leave the conversation log.';

-- Jobs and their places in the queue keep step. Triggers of a table run in the order of their names: queue_state comes
-- after procrastinate's own.
create or replace trigger jobs_turns_read after update on loci_data.jobs
    for each row when (old.finished_at is null and new.state in ('succeeded', 'dead') and new.turns_read <> '{}')
    execute function loci_internal.clear_turns_of_ended_job();
