-- From where came requests with keys that are unknown, expired or revoked (outcome unauthorized), or that were not
-- looked at because too many such came from there (limited)? By hour and address, newest first. The operator's: such a
-- request belongs to no namespace. Security definer: reads key_uses. Errors: 42501.
create or replace function loci_api.list_refused_requests(p_limit integer default 100, p_cursor bigint default null)
returns table (cursor bigint, hour timestamptz, address text, outcome text, requests bigint, first_at timestamptz,
               last_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('see refused keys');
    return query
    select u.id, u.hour, host(u.address), u.outcome, u.requests, u.first_at, u.last_at from loci_data.key_uses u
    where u.key_id is null and (p_cursor is null or u.id < p_cursor)
    order by u.id desc limit p_limit;
end $$;
comment on function loci_api.list_refused_requests(integer, bigint) is
    'Requests with API keys that are not valid, by hour and address, newest first. Operator only.';
