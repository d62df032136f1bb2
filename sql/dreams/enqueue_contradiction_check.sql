-- Trigger, at the end of a transaction: facts that wait for a model have a job that will look at them, if the namespace
-- wants that (setting supersession_model; where signals are switched off, the model is too). One job is enough for all
-- that wait: one that waits itself is held until this transaction has committed, so that it does not begin before and
-- miss what this one wrote. 10 µs where it is off. Index jobs_state.
create or replace function loci_internal.enqueue_contradiction_check() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_settings jsonb := (select n.settings from loci_data.namespaces n where n.id = new.namespace_id);
begin
    if coalesce(v_settings ->> 'supersession_model', 'off') = 'off' or v_settings ->> 'supersession' = 'off' then
        return null;
    end if;
    perform from loci_data.jobs j
    where j.namespace_id = new.namespace_id and j.state = 'waiting' and j.kind = 'contradictions' limit 1 for share;
    if not found then
        perform loci_internal.insert_job(new.namespace_id, 'contradictions', '{}', 'contradictions', 'dream');
    end if;
    return null;
end $$;
comment on function loci_internal.enqueue_contradiction_check() is
    'Trigger: leave facts that wait for a model to a job.';

-- Pairs that wait for a model get a job, at the end of the transaction: by then it holds all its other locks, and
-- waits for nobody who waits for it. A trigger that can wait cannot be replaced, so it is made anew.
drop trigger if exists contradiction_queue_job on loci_data.contradiction_queue;
create constraint trigger contradiction_queue_job after insert
on loci_data.contradiction_queue deferrable initially deferred
    for each row execute function loci_internal.enqueue_contradiction_check();
