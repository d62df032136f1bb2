-- Categories as a tree in path order, with counts of visible memories: in each category itself, and below it. One index
-- scan over the namespace.
create or replace function loci.list_categories(
    p_namespace text, p_under text default null, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (category text, memories bigint, total bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(
        v_ns, case when p_under is null then '{}' else jsonb_build_object('category', p_under) end, p_as_of,
        p_known_at);
begin
    return query
    with leaf as (
        select l.category, string_to_array(l.category, '/') as steps, count(*) as memories
        from (select case when p_known_at is null then m.category
              else (loci_internal.memory_as_believed(m, p_known_at)).category end as category
              from loci_data.memories m where m.namespace_id = v_ns and loci_internal.memory_is_visible(m, v_filter)) l
        group by l.category
    ), node as (
        select array_to_string(l.steps[1:d], '/') as path, d = cardinality(l.steps) as own, l.memories
        from leaf l cross join generate_series(1, cardinality(l.steps)) d
    )
    select n.path, coalesce(sum(n.memories) filter (where n.own), 0)::bigint, sum(n.memories)::bigint
    from node n where v_filter.category is null or n.path = v_filter.category
        or starts_with(n.path, v_filter.category || '/')
    group by n.path order by n.path collate "C";
end $$;
comment on function loci.list_categories(text, text, timestamptz, timestamptz) is
    'Category paths with the number of memories in each, and in it and below, at two times. Errors: 42501, P0002.';
