-- Categories as a tree in path order, with counts of current memories: in each category itself, and below it (row M7).
-- One index scan over the namespace. Called by REST and by analysts.
create or replace function loci.list_categories(p_namespace text, p_under text default null)
returns table (category text, memories bigint, total bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns    integer := loci.authorize(p_namespace, 'reader');
    v_at    timestamptz := clock_timestamp();
    v_under text := rtrim(p_under, '/');
begin
    return query
    with leaf as (
        select m.category, count(*) as memories from loci_data.memories m
        where m.namespace_id = v_ns and loci.is_visible(m, v_at, null)
          and (v_under is null or m.category = v_under or starts_with(m.category, v_under || '/'))
        group by m.category
    ), node as (
        select array_to_string((string_to_array(l.category, '/'))[1:d], '/') as path, l.category = array_to_string((string_to_array(l.category, '/'))[1:d], '/') as own, l.memories
        from leaf l cross join generate_series(1, cardinality(string_to_array(l.category, '/'))) d
    )
    select n.path, coalesce(sum(n.memories) filter (where n.own), 0)::bigint, sum(n.memories)::bigint
    from node n where v_under is null or n.path = v_under or starts_with(n.path, v_under || '/')
    group by n.path order by n.path collate "C";
end $$;
comment on function loci.list_categories(text, text) is 'Category paths with the number of current memories in each, and in it and below. Errors: 42501, P0002.';
