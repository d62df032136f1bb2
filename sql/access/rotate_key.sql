-- Put a new key in the place of one: of the same agent, with the same scope, namespaces, default namespace, space,
-- user, time zone and rate limit, drawing from the same bucket. The old one ends after p_grace_seconds (0: at once).
-- The new one ends at p_expires_at, or lives as long as the old one was given. One of two calls at once wins. Admin
-- of the agent's home, with a key that may do as much. Security definer: writes keys. Errors: 42501, P0002 (id), 23505
-- (revoked, expired or rotated before), 22023 (grace_seconds, expires_at).
create or replace function loci_api.rotate_key(
    p_namespace text, p_id uuid, p_new_id uuid, p_hash bytea, p_grace_seconds integer default 0,
    p_expires_at timestamptz default null)
returns table (id uuid, agent_id uuid, created_at timestamptz, old_ends_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_old loci_data.api_keys := loci_internal.lock_key(v_ns, p_id);
    v_now timestamptz := clock_timestamp();
    v_key loci_data.api_keys;
begin
    perform loci_internal.require_within_own_key(v_old.namespaces, v_old.space);
    perform loci_internal.speaking_user(coalesce(v_old.user_name, ''));
    if v_old.replaced_by is not null or v_old.revoked_at is not null or v_old.expires_at <= v_now then
        raise unique_violation using
            message = format('key %s %s', p_id, case when v_old.replaced_by is not null
                             then format('was rotated into %s', v_old.replaced_by)
                                                     else 'is expired or revoked' end), column = 'id';
    elsif p_grace_seconds not between 0 and 2592000 then
        raise invalid_parameter_value using column = 'grace_seconds',
            message = format('grace_seconds must be 0 to 2592000 (30 days), not %s', p_grace_seconds);
    end if;
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires_at');
    insert into loci_data.api_keys (id, agent_id, name, hash, scope, namespaces, rate_limit, bucket, created_by,
                                    created_at, expires_at, default_namespace_id, space, user_name, time_zone)
    values (p_new_id, v_old.agent_id, v_old.name, p_hash, v_old.scope, v_old.namespaces, v_old.rate_limit,
            v_old.bucket, loci.current_agent(), v_now,
            coalesce(p_expires_at, v_now + (v_old.expires_at - v_old.created_at)), v_old.default_namespace_id,
            v_old.space, v_old.user_name, v_old.time_zone)
    returning * into v_key;
    perform loci_internal.log_key_change(v_ns, v_key, 'created', null);
    update loci_data.api_keys k
    set replaced_by = p_new_id, revoked_at = case when p_grace_seconds = 0 then v_now end,
        expires_at = case when p_grace_seconds = 0 then k.expires_at
            else least(k.expires_at, v_now + p_grace_seconds * interval '1 second') end
    where k.id = p_id returning coalesce(k.revoked_at, k.expires_at) into old_ends_at;
    perform loci_internal.log_key_change(v_ns, k, 'changed', loci_internal.key_record(v_old))
    from loci_data.api_keys k where k.id = p_id;
    return query select v_key.id, v_key.agent_id, v_key.created_at, old_ends_at;
end $$;
comment on function loci_api.rotate_key(text, uuid, uuid, bytea, integer, timestamptz) is
    'Replace an API key by a new one with the same rights; the old one ends after a grace. Admin. Errors: 42501, '
    'P0002, 23505, 22023.';
