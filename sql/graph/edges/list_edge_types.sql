-- Types of edges of a namespace, in the order of the alphabet; cursor, on every row, is what to send for the page that
-- starts after it. Cost: reads the namespace's edges once a page. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.list_edge_types(p_namespace text, p_limit integer default 100,
                                                p_cursor text default null)
returns table (type text, decay_rate double precision, single_valued boolean, description text,
               updated_at timestamptz, edges bigint, faded bigint, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select t.type, t.decay_rate, t.single_valued, t.description, t.updated_at, t.edges, t.faded, t.type
    from loci.edge_types t
    where t.namespace = (select n.name from loci_data.namespaces n where n.id = v_namespace_id)
      and (p_cursor is null or t.type > p_cursor)
    order by t.type limit p_limit;
end $$;
comment on function loci.list_edge_types(text, integer, text) is
    'Types of edges with rates and counts, in the order of the alphabet; cursor pages. Errors: 42501, P0002, 22023.';
