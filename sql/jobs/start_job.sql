-- What is the job of a place in the queue that a worker has taken, as its p_attempt-th try? No row: it is gone or over,
-- or another worker has taken it since, and there is nothing to do. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.start_job(p_queue_id bigint, p_attempt integer)
returns table (namespace_id integer, id uuid, namespace text, kind text, arguments jsonb, tries integer,
               failures integer,
               postponed integer, agent_id uuid, created_at timestamptz, settings jsonb)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform loci_internal.require_operator('run jobs');
    return query
    select n.id, j.id, n.name, j.kind, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at,
           loci_internal.settings(n.id)
    from loci_jobs.procrastinate_jobs q
    join loci_data.jobs j on j.namespace_id = (q.args ->> 'namespace_id')::integer
         and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id
    join loci_data.namespaces n on n.id = j.namespace_id
    where q.id = p_queue_id and q.status = 'doing' and q.attempts = p_attempt and j.finished_at is null;
end $$;
comment on function loci_api.start_job(bigint, integer) is
    'The job that was taken off the queue; no row: nothing is to be done. Operator only. Errors: 42501.';
