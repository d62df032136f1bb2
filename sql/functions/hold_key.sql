-- Lock a key so that what it may do can be changed. It must reach the namespace, and the caller must be an admin wherever it reaches: who is
-- admin in one of its namespaces gets no new key for the others, and lengthens no life there.
-- Called by rotate_key and update_key; internal. Errors: P0002 (id), 42501.
create or replace function loci.hold_key(p_namespace_id integer, p_id uuid) returns loci_data.api_keys
language plpgsql volatile set search_path = ''
as $$
declare
    v_key loci_data.api_keys;
begin
    select * into v_key from loci_data.api_keys k where k.id = p_id for no key update;
    if v_key.id is null or not exists (select from loci.key_namespaces(v_key) n(id) where n.id = p_namespace_id) then
        raise no_data_found using column = 'id', message = format('key %s does not exist in this namespace', p_id);
    elsif exists (select from loci.key_namespaces(v_key) n(id) where not loci.is_admin(n.id)) then
        raise insufficient_privilege using
            message = format('key %s reaches namespaces that you are no admin of', p_id),
            hint = 'Make a new key, and revoke this one.';
    end if;
    return v_key;
end $$;
comment on function loci.hold_key(integer, uuid) is 'Lock an API key for a change that needs an admin wherever it reaches. Internal.';
