-- Delete calls of models that are older than their namespace keeps them (setting job_days), oldest first, at most p_limit; how many. Those of
-- today (UTC) stay whatever the setting: the budget is reckoned from them. Rows that others hold are left for the next time. One probe of
-- index model_calls_started a namespace. Called by the worker, again while it deletes as many as it may. Security definer; the operator's. Errors: 42501.
create or replace function loci.sweep_model_calls(p_limit integer default 1000) returns bigint
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_today   timestamptz := date_trunc('day', clock_timestamp(), 'UTC');
    v_deleted bigint;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may sweep the log';
    end if;
    with old as materialized (
        select n.id as namespace_id, c.id
        from loci_data.namespaces n
        cross join lateral (
            select m.id from loci_data.model_calls m
            where m.namespace_id = n.id
              and m.started_at < least(v_today, clock_timestamp() - least((loci.settings(n.id) ->> 'job_days')::double precision, 36500) * interval '1 day')
            order by m.started_at, m.id limit p_limit for update skip locked) c
        limit p_limit
    )
    delete from loci_data.model_calls m using old o where m.namespace_id = o.namespace_id and m.id = o.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end $$;
comment on function loci.sweep_model_calls(integer) is 'Delete calls of models past their namespace''s job_days, a bounded batch. Operator only.';
