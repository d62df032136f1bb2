-- How far a job is, while it runs: p_progress stands as its result until it is over. Refused as lock_job refuses, so
-- that a job which was cancelled or taken over stops. Security definer; the operator's. Errors: 42501, P0002, 55000.
create or replace function loci_api.report_job_progress(p_namespace text, p_id uuid, p_try integer, p_progress jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_api.lock_job(p_namespace, p_id, p_try);
    update loci_data.jobs j set result = p_progress where j.namespace_id = v_ns and j.id = p_id;
end $$;
comment on function loci_api.report_job_progress(text, uuid, integer, jsonb) is
    'Say how far a job is. Errors: 42501, P0002, 55000.';
