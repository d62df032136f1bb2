-- Refuse a type of edges that is neither used nor has settings, naming the nearest. One probe of edges_type; where that
-- finds nothing, all types. Errors: P0002 (type).
create or replace function loci_internal.refuse_unknown_edge_type(p_namespace_id integer, p_type text) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_near text;
begin
    if exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.type = p_type)
        or exists (select from loci_data.edge_types t where t.namespace_id = p_namespace_id and t.type = p_type) then
        return;
    end if;
    v_near := loci_internal.nearest_name(p_type, array(
        select e.type from loci_data.edges e where e.namespace_id = p_namespace_id
        union select s.type from loci_data.edge_types s where s.namespace_id = p_namespace_id));
    raise no_data_found using column = 'type',
        message = format('no edge has the type %L', p_type)
                  || case when v_near is null then '' else format('; the nearest is %L', v_near) end;
end $$;
comment on function loci_internal.refuse_unknown_edge_type(integer, text) is
    'Refuse a type of edges that is not known, naming the nearest. Errors: P0002.';
