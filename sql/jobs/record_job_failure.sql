-- Why a try of a job came to nothing: it failed, or it was put off (p_postponed). The queue decides when it is tried
-- again. p_refused_with: a hash of the settings, where the operator has to mend something before it can be done
-- (resume_jobs). How often either has happened comes back; no row: it is gone or over, or another worker has taken it
-- since. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.record_job_failure(p_queue_id bigint, p_attempt integer, p_error text,
                                                       p_postponed boolean default false,
                                                       p_refused_with text default null)
returns table (failures integer, postponed integer)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform loci_internal.require_operator('run jobs');
    return query
    update loci_data.jobs j set error = left(p_error, 2000), failures = j.failures + (not p_postponed)::integer,
                                postponed = j.postponed + p_postponed::integer, refused_with = p_refused_with
    from loci_jobs.procrastinate_jobs q
    where q.id = p_queue_id and q.status = 'doing' and q.attempts = p_attempt
      and j.namespace_id = (q.args ->> 'namespace_id')::integer
      and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id and j.finished_at is null
    returning j.failures, j.postponed;
end $$;
comment on function loci_api.record_job_failure(bigint, integer, text, boolean, text) is
    'Note why a try of a job failed or was put off; how often. Operator only. Errors: 42501.';
