-- The transaction that follows does the work of this job, and nobody else does: the job's row is locked until it ends,
-- and refused if the job ended meanwhile, or began another try (p_try) because its worker seemed dead. Erasures, and
-- the end of the namespace, wait for it, as it does for them. Security definer; the operator's. Errors: 42501, P0002,
-- 55000 (over, gone, or taken over).
create or replace function loci_api.lock_job(p_namespace text, p_id uuid, p_try integer default null) returns void
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_job loci_data.jobs;
begin
    -- see lock_background_work, which does not wait
    perform loci_internal.lock_shared(v_ns, 'worker');
    select j.* into v_job from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id for update;
    if v_job.id is null or v_job.finished_at is not null then
        raise object_not_in_prerequisite_state
            using message = format('job %s is over: %s', p_id, coalesce(v_job.state, 'deleted'));
    elsif v_job.tries <> p_try then
        raise object_not_in_prerequisite_state using message = format('job %s was taken over by another worker', p_id);
    end if;
end $$;
comment on function loci_api.lock_job(text, uuid, integer) is
    'Lock a job for the transaction that does its work. Errors: 42501, P0002, 55000.';
