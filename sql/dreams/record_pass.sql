-- Write the report of a pass, in the transaction of its changes: that a job has run it, what it changed and what it has
-- read are there together or not at all. p_report: columns of pass_runs. It takes the place of a report that the pass
-- failed, which a job leaves that was given up and is tried again by hand. p_turns, p_episodes: what the model was
-- shown; it has been read, unless the pass failed or was a dry run, and turns leave the log that every pass has read
-- (clear_turns). An operation that changed nothing is none, and is not named. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 23505 (the job has run it).
create or replace function loci_api.record_pass(p_namespace text, p_job_id uuid, p_name text, p_report jsonb,
                                                p_turns bigint[] default '{}', p_episodes uuid[] default '{}')
returns uuid
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
    v_id uuid := loci_api.uuid7();
begin
    delete from loci_data.pass_runs r where r.namespace_id = v_ns and r.job_id = p_job_id and r.pass = p_name
        and r.outcome = 'failed';
    insert into loci_data.pass_runs (namespace_id, id, job_id, pass, outcome, operation_id, started_at, seen, proposed,
                                     applied, refused, changes, corpus, error, turns, more, shown)
    select v_ns, v_id, p_job_id, p_name, r.outcome,
           (select o.id from loci_data.operations o where o.namespace_id = v_ns and o.id = r.operation_id),
           coalesce(r.started_at, clock_timestamp()), coalesce(r.seen, 0),
           coalesce(r.proposed, 0), coalesce(r.applied, 0), coalesce(r.refused, '[]'), coalesce(r.changes, '[]'),
           r.corpus, r.error, p_turns, coalesce(r.more, false), coalesce(r.shown, 0)
    from jsonb_populate_record(null::loci_data.pass_runs, p_report) r;
    if p_report ->> 'outcome' in ('applied', 'unchanged') and not exists (
        select from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_job_id
            and j.arguments ->> 'dry_run' = 'true') then
        insert into loci_data.episodes_read as e (namespace_id, memory_id, job_id)
        select v_ns, m.id, p_job_id from loci_data.memories m where m.namespace_id = v_ns and m.id = any (p_episodes)
        on conflict (namespace_id, memory_id) do update set job_id = excluded.job_id;
        if p_name = any ('{memories,entities,preferences,graph}') then
            perform loci_internal.clear_turns(v_ns, p_turns || loci_internal.turns_read_by_all(v_ns), p_name);
        end if;
    end if;
    return v_id;
end $$;
comment on function loci_api.record_pass(text, uuid, text, jsonb, bigint[], uuid[]) is
    'Write the report of a pass that a job has run, and what it has read. Errors: 42501, P0002, 23505.';

-- An answer about these turns and episodes was none: it was refused, cut off or not to be read. The next one is asked
-- about half as many of them (turns_to_read). Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci_api.record_failed_read(p_namespace text, p_turns bigint[], p_episodes uuid[])
returns void
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    update loci_data.conversation_turns t set failed_reads = least(t.failed_reads + 1, 30)
    from (select o.session_id, o.id from loci_data.conversation_turns o
          where o.namespace_id = v_ns and o.id = any (p_turns) order by o.id for update) l
    where t.namespace_id = v_ns and t.session_id = l.session_id and t.id = l.id;
    insert into loci_data.episodes_read as e (namespace_id, memory_id, failed_reads)
    select v_ns, m.id, 1 from loci_data.memories m where m.namespace_id = v_ns and m.id = any (p_episodes) order by m.id
    on conflict (namespace_id, memory_id) do update set failed_reads = least(e.failed_reads + 1, 30);
end $$;
comment on function loci_api.record_failed_read(text, bigint[], uuid[]) is
    'Count an answer that was none for what the model was shown. Errors: 42501, P0002.';
