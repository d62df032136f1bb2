-- Changes of API keys: new settings, rotation, revocation, and their list.

-- Change name, rate_limit, time_zone or expires_at of a key; what p_changes does not name stays. A key with a rate
-- limit gives none that is higher. Admin of the agent's home. Security definer: writes keys. Errors: 42501, P0002 (id),
-- 23514 (name, rate_limit), 22023 (rate_limit, time_zone).
create or replace function loci_api.update_key(p_namespace text, p_id uuid, p_changes jsonb) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_old   loci_data.api_keys := loci_internal.lock_key(v_ns, p_id);
    v_own   integer := (select k.rate_limit from loci_data.api_keys k
                        where k.id = nullif(current_setting('loci.key', true), '')::uuid);
    v_limit integer := case when p_changes ? 'rate_limit' then (p_changes ->> 'rate_limit')::integer
        else v_old.rate_limit end;
    v_key   loci_data.api_keys;
begin
    if p_changes ? 'expires_at' then  -- may lengthen its life
        perform loci_internal.require_within_own_key(v_old.namespaces, v_old.space);
    end if;
    if p_changes ? 'rate_limit' and coalesce(v_limit > v_own, v_own is not null) then
        raise invalid_parameter_value using column = 'rate_limit',
            message = format('rate_limit must be at most %s, the limit of your key, not %s', v_own,
                             coalesce(v_limit::text, 'null'));
    end if;
    update loci_data.api_keys k
    set name = coalesce(p_changes ->> 'name', k.name), rate_limit = v_limit,
        time_zone = case when p_changes ? 'time_zone'
            then loci_internal.check_time_zone(p_changes ->> 'time_zone') else k.time_zone end,
        expires_at = case when p_changes ? 'expires_at' then (p_changes ->> 'expires_at')::timestamptz
            else k.expires_at end
    where k.id = p_id returning * into v_key;
    if loci_internal.key_record(v_key) <> loci_internal.key_record(v_old) then
        perform loci_internal.log_key_change(v_ns, v_key, 'changed', loci_internal.key_record(v_old));
    end if;
end $$;
comment on function loci_api.update_key(text, uuid, jsonb) is
    'Change {name, rate_limit, time_zone, expires_at} of an API key. Admin. Errors: 42501, P0002, 23514, 22023.';

-- A time zone as it is. Null: none. Errors: 22023 (time_zone).
create or replace function loci_internal.check_time_zone(p_time_zone text) returns text
language plpgsql stable set search_path = ''
as $$
begin
    perform clock_timestamp() at time zone p_time_zone;
    return p_time_zone;
exception when invalid_parameter_value then
    raise invalid_parameter_value using column = 'time_zone',
        message = format('time_zone must be the name of a time zone such as Europe/Berlin, not %L',
                         left(p_time_zone, 100));
end $$;
comment on function loci_internal.check_time_zone(text) is
    'A time zone, checked. Errors: 22023.';

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

-- The keys of agents that are at home in a namespace, newest first; never their hashes. To the operator, also those of
-- other agents with a grant here that work here; and the one that p_key_id asks for, wherever it is. role: what its
-- agent is here; null: nothing. namespaces: those that the key is kept to, as far as the caller may read them; null:
-- wherever its agent has grants. default_namespace: likewise. Admin. Security definer: reads keys and grants.
create or replace function loci_api.list_keys(p_namespace text, p_limit integer default 100,
                                              p_cursor uuid default null, p_key_id uuid default null)
returns table (id uuid, name text, agent_id uuid, role text, scope text, namespaces text[], default_namespace text,
               space text, "user" text, time_zone text, rate_limit integer, created_at timestamptz,
               expires_at timestamptz, revoked_at timestamptz, replaced_by uuid, last_used_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'admin');
    v_readable integer[] := loci.readable_namespaces();
    v_operator boolean := loci_internal.is_operator();
begin
    return query
    select k.id, k.name, k.agent_id, g.role, k.scope,
           case when k.namespaces is not null then array(select n.name from loci_data.namespaces n
                where n.id = any (k.namespaces) and n.id = any (v_readable) order by n.name) end,
           (select n.name from loci_data.namespaces n where n.id = k.default_namespace_id and n.id = any (v_readable)),
           k.space, k.user_name, k.time_zone, k.rate_limit, k.created_at, k.expires_at, k.revoked_at, k.replaced_by,
           k.last_used_at
    from loci_data.agents a
    join loci_data.api_keys k on k.agent_id = a.id
    left join loci_data.grants g on g.namespace_id = v_ns and g.agent_id = a.id
    where case when p_key_id is not null then k.id = p_key_id and (v_operator or a.home_id = v_ns)
               else a.home_id = v_ns or v_operator and g.role is not null and (k.namespaces is null
                                                                               or v_ns = any (k.namespaces)) end
      and (p_cursor is null or k.id < p_cursor)
    order by k.id desc limit p_limit;
end $$;
comment on function loci_api.list_keys(text, integer, uuid, uuid) is
    'API keys of agents at home in a namespace, newest first; one if named. Admin. Errors: 42501, P0002.';

-- An end must be later than now, or never (null). Errors: 22023 (p_field).
create or replace function loci_internal.require_moment_to_come(p_moment timestamptz, p_field text) returns void
language plpgsql stable set search_path = ''
as $$
begin
    if not isfinite(p_moment) or p_moment <= clock_timestamp() then
        raise invalid_parameter_value using column = p_field,
            message = format('%s must be in the future, not %s', p_field, p_moment);
    end if;
end $$;
comment on function loci_internal.require_moment_to_come(timestamptz, text) is
    'Raise unless a moment lies in the future, or is null. Errors: 22023.';
