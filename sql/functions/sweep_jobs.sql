-- Delete jobs that ended longer ago than their namespace keeps them (setting job_days), dead ones too, with the reports of their passes: the oldest first,
-- at most p_limit of them; how many. Rows that others hold are left for the next time. One probe of index jobs_finished a namespace. Called by
-- the worker, again while it deletes as many as it may. Security definer; the operator's. Errors: 42501.
create or replace function loci.sweep_jobs(p_limit integer default 1000) returns bigint
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_deleted bigint;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may sweep the log';
    end if;
    with old as materialized (
        select n.id as namespace_id, f.id
        from loci_data.namespaces n
        cross join lateral (
            select j.id from loci_data.jobs j
            where j.namespace_id = n.id
              and j.finished_at < clock_timestamp() - least((loci.settings(n.id) ->> 'job_days')::double precision, 36500) * interval '1 day'
            order by j.finished_at, j.id limit p_limit for update skip locked) f
        limit p_limit
    )
    delete from loci_data.jobs j using old o where j.namespace_id = o.namespace_id and j.id = o.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end $$;
comment on function loci.sweep_jobs(integer) is 'Delete jobs that ended longer ago than their namespace''s job_days, a bounded batch. Operator only.';
