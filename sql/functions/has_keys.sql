-- Is there any key that would be accepted? The service asks before it listens to more than loopback.
create or replace function loci.has_keys() returns boolean
language sql stable security definer set search_path = ''
as $$
    select exists (select from loci_data.api_keys
                   where revoked_at is null and (expires_at is null or expires_at > clock_timestamp()))
$$;
comment on function loci.has_keys() is 'Whether an unexpired, unrevoked API key exists.';
