-- Browser sessions: a cookie that stands for a key.

-- Begin a session of a browser with a key: from now on the session's hash stands for the key (find_key), for p_seconds
-- and never longer than the key lives. A session makes no further one, so none outlives its end by being renewed. The
-- newest 100 of a key stay; sessions whose end has come are deleted on the way, 1,000 at a time. Two index probes.
-- Security definer: reads keys, writes sessions. Errors: 28000.
create or replace function loci_api.create_browser_session(p_key_hash bytea, p_hash bytea, p_seconds double precision)
returns timestamptz
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_key  loci_data.api_keys := loci_internal.find_key(p_key_hash);
    v_ends timestamptz;
begin
    if v_key.hash is distinct from p_key_hash then
        raise invalid_authorization_specification using
            message = 'invalid API key',
            hint = 'Send a valid key as `Authorization: Bearer …`.';
    end if;
    delete from loci_data.browser_sessions s
    where s.fingerprint in (
        select e.fingerprint from loci_data.browser_sessions e
        where e.expires_at <= clock_timestamp() order by e.expires_at, e.fingerprint limit 1000 for update skip locked);
    insert into loci_data.browser_sessions (hash, key_id, created_at, expires_at)
    values (p_hash, v_key.id, clock_timestamp(),
            least(clock_timestamp() + p_seconds * interval '1 second', v_key.expires_at))
    returning expires_at into v_ends;
    delete from loci_data.browser_sessions s
    where s.fingerprint in (
        select o.fingerprint from loci_data.browser_sessions o where o.key_id = v_key.id
        order by o.created_at desc, o.fingerprint offset 100 for update skip locked);
    return v_ends;
end $$;
comment on function loci_api.create_browser_session(bytea, bytea, double precision) is
    'Begin a session of a browser by the SHA-256 of a valid key and that of its token; when it ends. Errors: 28000.';

-- End a session of a browser. The hash proves the session, so nobody is asked who they are; a missing session has
-- ended. One index probe. Security definer: writes sessions.
create or replace function loci_api.delete_browser_session(p_hash bytea) returns void
language sql volatile security definer set search_path = ''
as $$
    delete from loci_data.browser_sessions s where s.fingerprint = substr(sha256(p_hash), 1, 8) and s.hash = p_hash
$$;
comment on function loci_api.delete_browser_session(bytea) is
    'End a session of a browser by the SHA-256 of its token.';
