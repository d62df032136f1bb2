-- From where to where does the change feed reach in these namespaces? A reader that asks this first, and then
-- read_changes, and finds no more there, has read up to the last change whatever its filter passed over: last_cursor.
-- place: that of the given cursor or place, from which it reads. One probe a namespace. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (namespaces, after), 24000 (after).
create or replace function loci_api.feed_bounds(p_namespaces text[] default null, p_after text default null,
                                                p_place bigint default null)
returns table (place bigint, last_place bigint, last_cursor text, namespace_ids integer[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids integer[] := loci_internal.feed_namespaces(p_namespaces);
begin
    return query
    select coalesce(p_place, loci_internal.cursor_place(p_after)), coalesce(f.last_place, 0),
           coalesce(loci_internal.feed_cursor(f.token, f.last_position), '0'), v_ids
    from (select) one
    left join (select w.* from loci_data.feeds w where w.namespace_id = any (v_ids)
               order by w.last_place desc, w.namespace_id limit 1) f on true;
end $$;
comment on function loci_api.feed_bounds(text[], text, bigint) is
    'How far the change feed of these namespaces reaches, the cursor of its last change, the place of a cursor, and '
    'the ids of the namespaces. Errors: 42501, P0002, 22023, 24000.';
