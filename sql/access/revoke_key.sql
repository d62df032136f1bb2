-- End a key at once: the next request that carries it is refused. Admin of its agent's home; others take the grant away
-- (delete_grant), which ends the key for them.
create or replace function loci_api.revoke_key(p_namespace text, p_id uuid) returns timestamptz
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_old loci_data.api_keys := loci_internal.lock_key(v_ns, p_id);
    v_key loci_data.api_keys;
begin
    if v_old.revoked_at is null then
        update loci_data.api_keys k set revoked_at = clock_timestamp() where k.id = p_id returning * into v_key;
        perform loci_internal.log_key_change(v_ns, v_key, 'changed', loci_internal.key_record(v_old));
    end if;
    return coalesce(v_old.revoked_at, v_key.revoked_at);
end $$;
comment on function loci_api.revoke_key(text, uuid) is
    'Revoke an API key. Admin. Errors: 42501, P0002.';
