-- Make a job and its place in the queue, in the caller's transaction (row L6): it is there if and when that commits. Where one of the same
-- kind and key waits for its first try, that one is given back instead (created: false). The queue's row says only which job it is; a notice wakes workers.
-- Jobs with the same turn run one after the other in a namespace. Called by enqueue_job and by functions that leave work for later; internal.
create or replace function loci.add_job(
    p_namespace_id integer, p_kind text, p_arguments jsonb default '{}', p_key text default null, p_turn text default null,
    p_due_at timestamptz default null)
returns table (id uuid, created boolean)
language plpgsql volatile set search_path = loci_jobs, pg_temp
as $$
begin
    id := loci.uuid7();
    insert into loci_data.jobs (namespace_id, id, kind, arguments, key, turn, agent_id, due_at)
    values (p_namespace_id, add_job.id, p_kind, p_arguments, p_key, p_turn, loci.caller(), p_due_at)
    on conflict (namespace_id, kind, key) where key is not null and state = 'waiting' and tries = 0 do nothing;
    created := found;
    if created then
        perform loci.queue_job(p_namespace_id, add_job.id);
    else
        -- It is not begun before this transaction has ended, so that it sees what is written here: workers pass by a place that is locked.
        select j.id into add_job.id
        from loci_data.jobs j join procrastinate_jobs q on q.id = j.queue_id
        where j.namespace_id = p_namespace_id and j.kind = p_kind and j.key = p_key and j.state = 'waiting' and j.tries = 0 and q.status = 'todo'
        for share of q;
        if not found then  -- one that has lost its place, as where the queue was emptied by hand, gets another
            perform loci.queue_job(p_namespace_id, j.id) from loci_data.jobs j
            where j.namespace_id = p_namespace_id and j.kind = p_kind and j.key = p_key and j.state = 'waiting' and j.tries = 0
              and not exists (select from procrastinate_jobs q where q.id = j.queue_id);
            -- begun in this moment: what it will not see deserves a job of its own
            return query select a.id, a.created from loci.add_job(p_namespace_id, p_kind, p_arguments, p_key, p_turn, p_due_at) a;
            return;
        end if;
    end if;
    return next;
end $$;
comment on function loci.add_job(integer, text, jsonb, text, text, timestamptz) is 'Make a job, or find the one with the same key that waits. Internal.';
