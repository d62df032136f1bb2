-- Which feeds have grown beyond a place, and up to which place do all of them reach now? For those who wake waiting
-- readers: one row always, so that they know from where to look next. Numbers of namespaces, and places, stay inside
-- the service. One look at feeds, of a row a namespace. Security definer: past the policies; the operator's. Errors:
-- 42501.
create or replace function loci_api.grown_feeds(p_place bigint)
returns table (place bigint, namespace_ids integer[])
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('look at the feeds of all namespaces');
    return query
    select coalesce(max(f.last_place), p_place), coalesce(array_agg(f.namespace_id), '{}')
    from loci_data.feeds f where f.last_place > p_place;
end $$;
comment on function loci_api.grown_feeds(bigint) is
    'Up to which place the change feed reaches, and ids of the namespaces whose feed reaches beyond p_place. Operator '
    'only. Errors: 42501.';
