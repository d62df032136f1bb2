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
