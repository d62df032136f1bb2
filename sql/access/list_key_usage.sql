-- Uses of a key, wherever it works: newest hour and row first. Admin of its agent's home. Security definer:
-- reads keys. Errors: 42501, P0002.
create or replace function loci_api.list_key_usage(p_namespace text, p_key_id uuid, p_limit integer default 100,
                                                   p_cursor bigint default null)
returns table (cursor bigint, namespace text, hour timestamptz, address text, outcome text, requests bigint,
               first_at timestamptz, last_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform from loci_api.list_keys(p_namespace, 1, null, p_key_id);
    if not found then
        raise no_data_found using message = format('key %s does not exist in this namespace', p_key_id), column = 'id';
    end if;
    return query
    select u.id, n.name, u.hour, host(u.address), u.outcome, u.requests, u.first_at, u.last_at
    from loci_data.key_uses u left join loci_data.namespaces n on n.id = u.namespace_id
    where u.key_id = p_key_id and (p_cursor is null or u.id < p_cursor)
    order by u.id desc limit p_limit;
end $$;
comment on function loci_api.list_key_usage(text, uuid, integer, bigint) is
    'Uses of an API key by hour, address and outcome, newest first. Admin. Errors: 42501, '
    'P0002.';
