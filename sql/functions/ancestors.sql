-- Everything above a memory: one range of memory_closure, then the visible version of each node; nearest first.
create or replace function loci.ancestors(p_namespace text, p_id uuid, p_as_of timestamptz default null)
returns table (depth integer, memory loci.memory_record)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns   integer := loci.authorize(p_namespace, 'reader');
    v_at   timestamptz := coalesce(p_as_of, clock_timestamp());
    v_node uuid := (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id);
begin
    if v_node is null then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    return query
    select c.depth, loci.memory_record(m, v_at)
    from loci_data.memory_closure c
    join loci_data.memories m on m.namespace_id = v_ns and m.lineage_id = c.ancestor_id
    where c.namespace_id = v_ns and c.descendant_id = v_node and loci.is_visible(m, v_at, null)
    order by c.depth, c.ancestor_id;
end $$;
comment on function loci.ancestors(text, uuid, timestamptz) is 'Memories above a memory with their depth, nearest first. Errors: 42501, P0002.';
