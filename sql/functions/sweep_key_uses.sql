-- Delete uses of keys that are older than their namespace keeps them (setting key_use_days; those of no namespace: its default), at most
-- p_limit of them; how many. One probe of index key_uses_namespace a namespace. The operator's; called by the worker, again while it deletes
-- as many as it may. Security definer. Errors: 42501.
create or replace function loci.sweep_key_uses(p_limit integer default 1000) returns bigint
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_deleted bigint;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may sweep uses of keys';
    end if;
    with kept as materialized (
        select n.id, clock_timestamp() - least((n.settings ->> 'key_use_days')::double precision, 36500) * interval '1 day' as until
        from (select m.id, loci.settings(m.id) as settings from loci_data.namespaces m
              union all select null, loci.default_settings()) n
    ), old as materialized (
        select u.id from kept k
        cross join lateral (
            (select s.id from loci_data.key_uses s
             where s.namespace_id = k.id and s.hour < k.until order by s.hour, s.id limit p_limit)
            union all
            (select s.id from loci_data.key_uses s
             where k.id is null and s.namespace_id is null and s.hour < k.until order by s.hour, s.id limit p_limit)) u
        limit p_limit
    )
    delete from loci_data.key_uses u using old o where u.id = o.id;
    get diagnostics v_deleted = row_count;
    return v_deleted;
end $$;
comment on function loci.sweep_key_uses(integer) is 'Delete uses of API keys past key_use_days, a bounded batch. Operator only.';
