-- Queue of jobs: a job is queued, joined with one that waits, or taken out.

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
    p_turn text default null, p_due_at timestamptz default null)
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

-- Ask for work that is done later, in the caller's transaction. Security definer: writes past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023 (kind).
create or replace function loci_api.enqueue_job(
    p_namespace text, p_kind text, p_arguments jsonb default '{}', p_key text default null, p_turn text default null,
    p_due_at timestamptz default null)
returns table (id uuid, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if p_kind is null or p_kind not in ('dream', 'enrich', 'contradictions', 'settle', 'tune', 'project') then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be dream, enrich, contradictions, settle, tune or project, not %L', p_kind);
    end if;
    return query select a.id, a.created
        from loci_internal.insert_job(v_ns, p_kind, p_arguments, p_key, p_turn, p_due_at) a;
end $$;
comment on function loci_api.enqueue_job(text, text, jsonb, text, text, timestamptz) is
    'Ask for a job; created is false where one with the same key waits already. Errors: 42501, P0002, 22023.';

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

-- Trigger on the queue: a job gets the state of its row in the queue. The end that a job has stated itself
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
