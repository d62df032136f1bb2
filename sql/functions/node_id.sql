-- The node of the hierarchy that a memory is: the id of its lineage's first version. One primary key look-up. Internal.
create or replace function loci.node_id(p_namespace_id integer, p_memory_id uuid, p_field text default 'id') returns uuid
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_node uuid;
begin
    select m.lineage_id into v_node from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_memory_id;
    if v_node is null then
        raise no_data_found using message = format('memory %s does not exist', p_memory_id), column = p_field;
    end if;
    return v_node;
end $$;
comment on function loci.node_id(integer, uuid, text) is 'lineage_id of a memory. Internal. Errors: P0002 (names p_field).';
