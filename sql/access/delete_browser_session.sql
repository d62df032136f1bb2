-- End a session of a browser. The hash proves the session, so nobody is asked who they are; a missing session has
-- ended. One index probe. Security definer: writes sessions.
create or replace function loci_api.delete_browser_session(p_hash bytea) returns void
language sql volatile security definer set search_path = ''
as $$
    delete from loci_data.browser_sessions s where s.fingerprint = substr(sha256(p_hash), 1, 8) and s.hash = p_hash
$$;
comment on function loci_api.delete_browser_session(bytea) is
    'End a session of a browser by the SHA-256 of its token.';
