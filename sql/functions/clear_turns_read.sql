-- Trigger: a job that learned from turns of conversation has ended, well or not: they leave the log, exactly those (seed B: cleared
-- regardless of success). Not after a dry run, nor when it was cancelled or skipped. A job that succeeds ends in a transaction that says what
-- it is; one that dies ends in the queue's own, which knows nothing of namespaces: the operations log then has it as the worker's, too.
create or replace function loci.clear_turns_read() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    if coalesce(new.arguments ->> 'dry_run', 'false') <> 'true' then
        if coalesce(current_setting('loci.origin', true), '') = '' then
            perform set_config('loci.agent', loci.operator()::text, true),
                    set_config('loci.origin', jsonb_build_object('action', new.kind, 'via', 'worker')::text, true);
        end if;
        perform loci.clear_turns(new.namespace_id, new.turns_read);
    end if;
    return null;
end $$;
comment on function loci.clear_turns_read() is 'Trigger: turns that an ended job has learned from leave the conversation log.';
