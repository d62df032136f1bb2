-- Write the report of a pass, in the transaction of its changes: that a job has run it and what it changed are there
-- together or not at all. p_report: columns of pass_runs. It takes the place of a report that the pass failed, which a
-- job leaves that was given up and is tried again by hand. Security definer: writes past the policies; checks the
-- caller itself. Errors: 42501, P0002, 23505 (the job has run it).
create or replace function loci_api.record_pass(p_namespace text, p_job_id uuid, p_name text, p_report jsonb)
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
                                     applied, refused, changes, corpus, error)
    select v_ns, v_id, p_job_id, p_name, r.outcome, r.operation_id, coalesce(r.started_at, clock_timestamp()),
           coalesce(r.seen, 0),
           coalesce(r.proposed, 0), coalesce(r.applied, 0), coalesce(r.refused, '[]'), coalesce(r.changes, '[]'),
           r.corpus, r.error
    from jsonb_populate_record(null::loci_data.pass_runs, p_report) r;
    return v_id;
end $$;
comment on function loci_api.record_pass(text, uuid, text, jsonb) is
    'Write the report of a pass that a job has run. Errors: 42501, P0002, 23505.';
