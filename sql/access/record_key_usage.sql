-- Add to what keys were used for, a batch of counts from one process of the service: by key (null: not a valid one),
-- namespace named (null: none, which is the key's default one), address and outcome. A namespace that the
-- key does not reach is not named. Sets last_used_at. Rows are locked in one order. The operator's; called every second
-- or so by service/access/key_usage.py. Security definer: writes key_uses and keys. Errors: 42501.
create or replace function loci_api.record_key_usage(p_key_ids uuid[], p_namespaces text[], p_addresses inet[],
                                                     p_outcomes text[], p_requests bigint[]) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    perform loci_internal.require_operator('note uses of keys');
    insert into loci_data.key_uses as u (namespace_id, key_id, hour, address, outcome, requests, first_at, last_at)
    select r.id, k.id, date_trunc('hour', v_now, 'UTC'), c.address, c.outcome, sum(c.requests), v_now, v_now
    from unnest(p_key_ids, p_namespaces, p_addresses, p_outcomes, p_requests) c(key_id, namespace, address, outcome,
        requests)
    left join loci_data.api_keys k on k.id = c.key_id
    left join lateral (
        select n.id from loci_internal.key_namespaces(k) r(id) join loci_data.namespaces n on n.id = r.id
        where case when c.namespace is null then n.id = k.default_namespace_id else n.name = c.namespace end) r on true
    where c.key_id is null or k.id is not null  -- a key that was deleted meanwhile
    group by r.id, k.id, c.address, c.outcome
    order by k.id, r.id, c.address, c.outcome
    on conflict on constraint key_uses_use do update set requests = u.requests + excluded.requests,
        last_at = greatest(u.last_at, excluded.last_at);
    update loci_data.api_keys k set last_used_at = greatest(k.last_used_at, v_now)
    from (select l.id from loci_data.api_keys l where l.id = any (p_key_ids) order by l.id for no key update) used
    where k.id = used.id;
end $$;
comment on function loci_api.record_key_usage(uuid[], text[], inet[], text[], bigint[]) is
    'Add counts of requests to the record of what API keys were used for. Operator only.';
