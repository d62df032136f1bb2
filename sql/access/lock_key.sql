-- Lock a key so that it can be changed or ended. Its agent must be at home in the namespace, whose admin the caller is;
-- the operator may name any key. To others it is not there. Errors: P0002 (id).
create or replace function loci_internal.lock_key(p_namespace_id integer, p_id uuid) returns loci_data.api_keys
language plpgsql volatile set search_path = ''
as $$
declare
    v_key loci_data.api_keys;
begin
    select k.* into v_key from loci_data.api_keys k
    where k.id = p_id and (loci_internal.is_operator()
                           or exists (select from loci_data.agents a
                                      where a.id = k.agent_id and a.home_id = p_namespace_id))
    for no key update;
    if v_key.id is null then
        raise no_data_found using column = 'id', message = format('key %s does not exist in this namespace', p_id);
    end if;
    return v_key;
end $$;
comment on function loci_internal.lock_key(integer, uuid) is
    'Lock an API key of an agent that is at home in a namespace. Errors: P0002.';

-- The namespaces that a key reaches: its agent's grants, also those whose time is over, of those that the key names.
-- One index scan.
create or replace function loci_internal.key_namespaces(p_key loci_data.api_keys) returns setof integer
language sql stable set search_path = ''
as $$
    select g.namespace_id from loci_data.grants g
    where g.agent_id = p_key.agent_id and (p_key.namespaces is null or g.namespace_id = any (p_key.namespaces))
    order by g.namespace_id
$$;
comment on function loci_internal.key_namespaces(loci_data.api_keys) is
    'Numbers of the namespaces that a key reaches.';

-- The operations log says this of a key, and never its hash or fingerprint.
create or replace function loci_internal.key_record(p_key loci_data.api_keys) returns jsonb
language sql stable set search_path = ''
as $$
    select jsonb_build_object('name', p_key.name, 'agent_id', p_key.agent_id, 'scope', p_key.scope,
                              'space', p_key.space, 'user', p_key.user_name, 'time_zone', p_key.time_zone,
                              'rate_limit', p_key.rate_limit,
                              'expires_at', p_key.expires_at, 'revoked_at', p_key.revoked_at,
                              'replaced_by', p_key.replaced_by)
$$;
comment on function loci_internal.key_record(loci_data.api_keys) is
    'Fields of an API key that may be shown.';
