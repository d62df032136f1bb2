-- End a key at once: the next request that carries it is refused. Admin of a namespace that the key reaches: it is a
-- danger to each of them.
create or replace function loci_api.revoke_key(p_namespace text, p_id uuid) returns timestamptz
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_old loci_data.api_keys;
    v_key loci_data.api_keys;
begin
    select * into v_old from loci_data.api_keys k where k.id = p_id for no key update;
    if v_old.id is null or not exists (select from loci_internal.key_namespaces(v_old) n(id) where n.id = v_ns) then
        raise no_data_found using message = format('key %s does not exist in this namespace', p_id), column = 'id';
    end if;
    if v_old.revoked_at is null then
        update loci_data.api_keys k set revoked_at = clock_timestamp() where k.id = p_id returning * into v_key;
        perform loci_internal.log_key_change(v_key, 'changed', loci_internal.key_record(v_old));
    end if;
    return coalesce(v_old.revoked_at, v_key.revoked_at);
end $$;
comment on function loci_api.revoke_key(text, uuid) is
    'Revoke an API key. Admin. Errors: 42501, P0002.';
