-- From where to where does the change feed reach in these namespaces? A reader that asks this first, and then
-- list_changes, and finds no more there, has read up to last_position whatever its filter passed over. Changes up to
-- kept_after have been swept. Two probes a namespace. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023.
create or replace function loci_api.feed_bounds(p_namespaces text[] default null)
returns table (kept_after bigint, last_position bigint, namespace_ids integer[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids integer[] := loci_internal.feed_namespaces(p_namespaces);
begin
    return query
    select coalesce(max(n.changes_from), 0), coalesce(greatest(max(n.changes_from), max(l.position)), 0), v_ids
    from loci_data.namespaces n
    left join lateral (select c.position from loci_data.changes c where c.namespace_id = n.id
                       order by c.position desc limit 1) l on true
    where n.id = any (v_ids);
end $$;
comment on function loci_api.feed_bounds(text[]) is
    'First and last position of the change feed in these namespaces, and their ids: what was swept, and how far it '
    'reaches. Errors: 42501, P0002, 22023.';
