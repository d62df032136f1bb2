-- Give a job its place in the queue: a row of procrastinate's, with the job's number and nothing of what it is about. A
-- caller that asks for many jobs stands behind one that asks for one: a job's turn is now, and a second at least after
-- that of the job before it of the same namespace and kind, if that is open. The queue takes the earliest (priority:
-- minus the seconds since 2020). So jobs of a namespace that asked for a thousand at once are passed by those of
-- others; they keep their order, and none is passed for longer than it has jobs before it, in seconds. A job that is
-- put off stands where it would if it were asked for when it is due, so it holds up nobody of its turn meanwhile. One
-- probe of index jobs_open.
create or replace function loci_internal.queue_job(p_namespace_id integer, p_id uuid) returns void
language plpgsql volatile set search_path = loci_jobs, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_job   loci_data.jobs;
    v_after integer;
begin
    select j.* into v_job from loci_data.jobs j where j.namespace_id = p_namespace_id and j.id = p_id;
    select q.priority into v_after
    from (select j.queue_id from loci_data.jobs j
          where j.namespace_id = p_namespace_id and j.kind = v_job.kind and j.finished_at is null
            and j.queue_id is not null
            and (j.due_at is null or j.due_at <= clock_timestamp())
          order by j.queue_id desc limit 1) last
    join procrastinate_jobs q on q.id = last.queue_id;
    update loci_data.jobs j set queue_id = (
        procrastinate_defer_jobs_v1(array[(
            'loci', 'loci.run',
            least(-extract(epoch from greatest(clock_timestamp(), v_job.due_at)
                           - timestamptz '2020-01-01 00:00+00')::integer, v_after - 1),
            p_namespace_id::text || '/' || v_job.turn, null,
            jsonb_build_object('namespace_id', p_namespace_id, 'job_id', p_id),
            v_job.due_at)::procrastinate_job_to_defer_v1]))[1]
    where j.namespace_id = p_namespace_id and j.id = p_id;
end $$;
comment on function loci_internal.queue_job(integer, uuid) is
    'Put a job into the queue.';

-- Make a job and its place in the queue, in the caller's transaction: it is there if and when that commits. Where one
-- of the same kind and key waits for its first try, that one is given back instead (created: false). The queue's row
-- says only which job it is; workers look for it. Jobs with the same turn run one after the other in a namespace.
create or replace function loci_internal.insert_job(
    p_namespace_id integer, p_kind text, p_arguments jsonb default '{}', p_key text default null,
    p_turn text default null,
    p_due_at timestamptz default null)
returns table (id uuid, created boolean)
language plpgsql volatile set search_path = loci_jobs, pg_temp
as $$
begin
    id := loci_api.uuid7();
    insert into loci_data.jobs (namespace_id, id, kind, arguments, key, turn, agent_id, due_at)
    values (p_namespace_id, insert_job.id, p_kind, p_arguments, p_key, p_turn, loci.current_agent(), p_due_at)
    on conflict (namespace_id, kind, key) where key is not null and state = 'waiting' and tries = 0 do nothing;
    created := found;
    if created then
        perform loci_internal.queue_job(p_namespace_id, insert_job.id);
    else
        -- It is not begun before this transaction has ended, so that it sees what is written here: workers pass by a
        -- place that is locked.
        select j.id into insert_job.id
        from loci_data.jobs j join procrastinate_jobs q on q.id = j.queue_id
        where j.namespace_id = p_namespace_id and j.kind = p_kind and j.key = p_key and j.state = 'waiting'
          and j.tries = 0 and q.status = 'todo'
        for share of q;
        if not found then  -- one that has lost its place, as where the queue was emptied by hand, gets another
            perform loci_internal.queue_job(p_namespace_id, j.id) from loci_data.jobs j
            where j.namespace_id = p_namespace_id and j.kind = p_kind and j.key = p_key and j.state = 'waiting'
              and j.tries = 0
              and not exists (select from procrastinate_jobs q where q.id = j.queue_id);
            -- begun in this moment: what it will not see deserves a job of its own
            return query select a.id, a.created
                from loci_internal.insert_job(p_namespace_id, p_kind, p_arguments, p_key, p_turn, p_due_at) a;
            return;
        end if;
    end if;
    return next;
end $$;
comment on function loci_internal.insert_job(integer, text, jsonb, text, text, timestamptz) is
    'Make a job, or find the one with the same key that waits.';
