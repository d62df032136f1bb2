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
