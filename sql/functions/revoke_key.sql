-- End a key at once: the next request that carries it is refused. Admin of a namespace that the key reaches.
create or replace function loci.revoke_key(p_namespace text, p_id uuid) returns timestamptz
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns      integer := loci.authorize(p_namespace, 'admin');
    v_revoked timestamptz;
begin
    update loci_data.api_keys k set revoked_at = coalesce(k.revoked_at, clock_timestamp())
    from loci_data.grants g
    where k.id = p_id and g.agent_id = k.agent_id and g.namespace_id = v_ns
    returning k.revoked_at into v_revoked;
    if not found then
        raise no_data_found using message = format('key %s does not exist in namespace %L', p_id, p_namespace), column = 'id';
    end if;
    return v_revoked;
end $$;
comment on function loci.revoke_key(text, uuid) is 'Revoke an API key. Admin. Errors: 42501, P0002.';
