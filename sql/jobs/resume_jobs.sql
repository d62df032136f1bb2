-- Jobs that wait until the operator has mended something are due now, if the settings are others than those under which
-- they were refused (p_settings: their hash); how many. A worker asks when it starts. The queue's rows first, as its
-- trigger locks them. Security definer: writes past the policies; the operator's. Errors: 42501.
create or replace function loci_api.resume_jobs(p_settings text) returns integer
language plpgsql volatile security definer set search_path = loci_jobs, pg_temp
as $$
declare
    v_places bigint[];
    v_count  integer;
begin
    perform loci_internal.require_operator('run jobs');
    v_places := array(
        select q.id from procrastinate_jobs q
        where q.status = 'todo' and q.id in (
            select j.queue_id from loci_data.namespaces n cross join lateral (
                select o.queue_id from loci_data.jobs o
                where o.namespace_id = n.id and o.state = 'waiting' and o.refused_with <> p_settings) j)
        order by q.id for update);
    update procrastinate_jobs q set scheduled_at = null where q.id = any (v_places);
    update loci_data.jobs j set due_at = null, refused_with = null
    from procrastinate_jobs q
    where q.id = any (v_places) and j.namespace_id = (q.args ->> 'namespace_id')::integer
      and j.id = (q.args ->> 'job_id')::uuid and j.queue_id = q.id;
    get diagnostics v_count = row_count;
    return v_count;
end $$;
comment on function loci_api.resume_jobs(text) is
    'Let jobs go on that were refused under other settings; how many. Operator only. Errors: 42501.';

-- Why do jobs wait for the operator? Each reason, and how many wait for it: 10 at most, the most frequent first. Index
-- jobs_state. Security definer: reads all namespaces; the operator's. Errors: 42501.
create or replace function loci_api.refused_jobs()
returns table (reason text, jobs bigint)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('ask for the figures of the service');
    return query
    select o.error, count(*)
    from loci_data.namespaces n cross join lateral (
        select j.error from loci_data.jobs j
        where j.namespace_id = n.id and j.state = 'waiting' and j.refused_with is not null) o
    group by o.error order by count(*) desc, o.error limit 10;
end $$;
comment on function loci_api.refused_jobs() is
    'Reasons for which jobs wait for the operator, and how many do. Operator only. Errors: 42501.';
