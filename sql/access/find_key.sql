-- The key with this hash that may be used now, or the key that the browser session with this hash stands for; all null
-- where there is none. Looked up by a fingerprint, so the index compares nothing that a key could be guessed by. The
-- whole hash is compared as a hash of itself and a new random number: how long that takes, and where the first
-- difference stands, has nothing to do with the stored hash. Unknown, expired and revoked keys take the same steps. One
-- probe of api_keys_fingerprint_key; where that finds nothing, one of browser_sessions_pkey. About 15 µs.
create or replace function loci_internal.find_key(p_hash bytea) returns loci_data.api_keys
language plpgsql volatile set search_path = ''
as $$
declare
    v_key     loci_data.api_keys;
    v_session loci_data.browser_sessions;
    v_nonce   bytea := uuid_send(gen_random_uuid());
    v_same    boolean;
    v_live    boolean;
begin
    select * into v_key from loci_data.api_keys k where k.fingerprint = substr(sha256(p_hash), 1, 8);
    if v_key.id is null then
        select * into v_session from loci_data.browser_sessions s where s.fingerprint = substr(sha256(p_hash), 1, 8);
        select * into v_key from loci_data.api_keys k where k.id = v_session.key_id;
    end if;
    v_same := sha256(coalesce(v_session.hash, v_key.hash, v_nonce || v_nonce) || v_nonce) = sha256(p_hash || v_nonce);
    v_live := v_key.revoked_at is null
        and least(v_key.expires_at, v_session.expires_at, 'infinity') > clock_timestamp();
    return case when v_same and v_live then v_key end;
end $$;
comment on function loci_internal.find_key(bytea) is
    'The valid API key with this SHA-256, or of the browser session with it, compared in a time that says nothing of '
    'it; null for none.';

-- Is there any key that would be accepted? The service asks before it listens to more than loopback.
create or replace function loci_api.has_keys() returns boolean
language sql stable security definer set search_path = ''
as $$
    select exists (select from loci_data.api_keys
                   where revoked_at is null and (expires_at is null or expires_at > clock_timestamp()))
$$;
comment on function loci_api.has_keys() is
    'Whether an unexpired, unrevoked API key exists.';
