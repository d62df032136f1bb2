-- Rates and usage of API keys: leases of requests, counts, refusals.

-- May p_wanted requests be sent with this key now? How many of them, and what is known of its limit (rate_limit, or
-- p_default where it has none). No row: the key is not valid. Without a limit all are granted and no table is written.
-- Otherwise a token bucket that all processes of the service share, by the clock of this server: it holds a minute's
-- requests and refills evenly. A process that asks while much is left is given more than it wants, so that it asks less
-- often: a sixteenth of what is left, half a second's worth at most, which it must use within half a second or give
-- back (p_returned). Leased requests cannot add to a burst: the bucket of a limit of 240 or more holds that much less;
-- smaller limits are given one by one and are exact. Returns also what remains, seconds until one more is there,
-- seconds until the bucket is full, the time (seconds since 1970), and the hash of the key, which is another where a
-- browser session stands for it. One probe for a key without limit; with one, an update of one row. Security definer:
-- reads keys, writes buckets.
create or replace function loci_api.lease_requests(p_key_hash bytea, p_wanted integer, p_default integer default null,
                                                   p_returned integer default 0)
returns table (key_id uuid, rate_limit integer, granted integer, remaining integer, next_in double precision,
               full_in double precision, clock double precision, key_hash bytea)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_key    loci_data.api_keys := loci_internal.find_key(p_key_hash);
    v_limit  integer := coalesce(v_key.rate_limit, p_default);
    v_rate   double precision := v_limit / 60.0;
    v_held   integer := case when v_limit >= 240 then ceil(v_limit / 120.0) else 0 end;
    v_bucket loci_data.rate_buckets;
    v_now    timestamptz;
begin
    if v_key.id is null then
        return;
    elsif v_limit is null then
        return query select v_key.id, null::integer, p_wanted, 0, 0.0::double precision, 0.0::double precision,
                            0.0::double precision, v_key.hash;
        return;
    end if;
    insert into loci_data.rate_buckets values (v_key.bucket, v_limit - v_held, clock_timestamp())
    on conflict do nothing;
    select * into v_bucket from loci_data.rate_buckets b where b.bucket = v_key.bucket for no key update;
    v_now := greatest(clock_timestamp(), v_bucket.refilled_at);  -- after waiting for the row
    v_bucket.tokens := least(v_limit - v_held, v_bucket.tokens + greatest(p_returned, 0)
                             + v_rate * extract(epoch from v_now - v_bucket.refilled_at)::double precision);
    granted := case when p_wanted > 0 then least(floor(v_bucket.tokens),
                                                 greatest(p_wanted, least(v_held, floor(v_bucket.tokens / 16))))
                                                     else 0 end;
    v_bucket.tokens := v_bucket.tokens - granted;
    update loci_data.rate_buckets b set tokens = v_bucket.tokens, refilled_at = v_now where b.bucket = v_key.bucket;
    return query select v_key.id, v_limit, granted, floor(v_bucket.tokens)::integer,
                        greatest(0, 1 - v_bucket.tokens) / v_rate,
                        greatest(0, v_limit - v_held - v_bucket.tokens) / v_rate,
                        extract(epoch from v_now)::double precision, v_key.hash;
end $$;
comment on function loci_api.lease_requests(bytea, integer, integer, integer) is
    'Take requests from the allowance of an API key, shared by all processes; no row for a key that is not valid.';

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

-- Uses of a key, wherever it works: newest hour and row first. Admin of its agent's home. Security definer:
-- reads keys. Errors: 42501, P0002.
create or replace function loci_api.list_key_usage(p_namespace text, p_key_id uuid, p_limit integer default 100,
                                                   p_cursor bigint default null)
returns table (cursor bigint, namespace text, hour timestamptz, address text, outcome text, requests bigint,
               first_at timestamptz, last_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform from loci_api.list_keys(p_namespace, 1, null, p_key_id);
    if not found then
        raise no_data_found using message = format('key %s does not exist in this namespace', p_key_id), column = 'id';
    end if;
    return query
    select u.id, n.name, u.hour, host(u.address), u.outcome, u.requests, u.first_at, u.last_at
    from loci_data.key_uses u left join loci_data.namespaces n on n.id = u.namespace_id
    where u.key_id = p_key_id and (p_cursor is null or u.id < p_cursor)
    order by u.id desc limit p_limit;
end $$;
comment on function loci_api.list_key_usage(text, uuid, integer, bigint) is
    'Uses of an API key by hour, address and outcome, newest first. Admin. Errors: 42501, '
    'P0002.';

-- From where came requests with keys that are unknown, expired or revoked (outcome unauthorized), or that were not
-- looked at because too many such came from there (limited)? By hour and address, newest first. The operator's: such a
-- request belongs to no namespace. Security definer: reads key_uses. Errors: 42501.
create or replace function loci_api.list_refused_requests(p_limit integer default 100, p_cursor bigint default null)
returns table (cursor bigint, hour timestamptz, address text, outcome text, requests bigint, first_at timestamptz,
               last_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('see refused keys');
    return query
    select u.id, u.hour, host(u.address), u.outcome, u.requests, u.first_at, u.last_at from loci_data.key_uses u
    where u.key_id is null and (p_cursor is null or u.id < p_cursor)
    order by u.id desc limit p_limit;
end $$;
comment on function loci_api.list_refused_requests(integer, bigint) is
    'Requests with API keys that are not valid, by hour and address, newest first. Operator only.';
