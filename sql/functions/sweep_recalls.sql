-- Delete logged recalls that are older than their namespace keeps them (setting recall_log_days), oldest first, at most p_limit of them; how many.
-- Rows that others hold are left for the next time. One probe of index recalls_at a namespace. Called by the worker, again while
-- it deletes as many as it may. Security definer; the operator's. Errors: 42501.
create or replace function loci.sweep_recalls(p_limit integer default 1000) returns bigint
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_deleted bigint;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may sweep the log';
    end if;
    with old as materialized (
        select n.id as namespace_id, r.id
        from loci_data.namespaces n
        cross join lateral (
            select l.id from loci_data.recalls l
            where l.namespace_id = n.id
              and l.at < clock_timestamp() - least((loci.settings(n.id) ->> 'recall_log_days')::double precision, 36500) * interval '1 day'
            order by l.at, l.id limit p_limit for update skip locked) r
        limit p_limit
    )
    delete from loci_data.recalls r using old o where r.namespace_id = o.namespace_id and r.id = o.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end $$;
comment on function loci.sweep_recalls(integer) is 'Delete logged recalls past their namespace''s recall_log_days, a bounded batch. Operator only.';
