-- Links from and to a memory, strongest first. Two index ranges. Called by REST.
create or replace function loci.list_links(p_namespace text, p_id uuid, p_limit integer default 100)
returns table (source_id uuid, target_id uuid, type text, strength double precision, created_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns   integer := loci.authorize(p_namespace, 'reader');
    v_node uuid := (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id);
begin
    if v_node is null then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    return query
    select l.source_id, l.target_id, l.type, l.strength, l.created_at
    from (select * from loci_data.memory_links where namespace_id = v_ns and memory_links.source_id = v_node
          union all
          select * from loci_data.memory_links where namespace_id = v_ns and memory_links.target_id = v_node) l
    order by l.strength desc, l.source_id, l.target_id, l.type limit p_limit;
end $$;
comment on function loci.list_links(text, uuid, integer) is 'Links of a memory in both directions, strongest first. Errors: 42501, P0002.';
