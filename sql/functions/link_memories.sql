-- Link two memories, or change the strength of a link (row M5). Ends are lineages, whatever version was named.
create or replace function loci.link_memories(
    p_namespace text, p_source uuid, p_target uuid, p_type text, p_strength double precision default 0.5)
returns table (source_id uuid, target_id uuid, type text, strength double precision, created_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci.authorize(p_namespace, 'writer');
    v_source uuid := (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns and m.id = p_source);
    v_target uuid := (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns and m.id = p_target);
begin
    if v_source is null or v_target is null then
        raise no_data_found using
            message = format('memory %s does not exist', case when v_source is null then p_source else p_target end),
            column = case when v_source is null then 'id' else 'target_id' end;
    end if;
    return query
    insert into loci_data.memory_links as l (namespace_id, source_id, target_id, type, strength)
    values (v_ns, v_source, v_target, p_type, p_strength)
    on conflict on constraint memory_links_pkey do update set strength = excluded.strength
    returning l.source_id, l.target_id, l.type, l.strength, l.created_at;
end $$;
comment on function loci.link_memories(text, uuid, uuid, text, double precision) is 'Upsert a typed, weighted link between two memories. Errors: 42501, P0002, 23514.';
