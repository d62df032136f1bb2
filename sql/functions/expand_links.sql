-- Link a memory that was made of a raw one to it (expands), and to what the raw one is linked to, in the same direction. Its links in force
-- only; those of other memories made of it are left out. Called by enrich_memory; internal.
create or replace function loci.expand_links(p_namespace_id integer, p_namespace text, p_entry uuid, p_raw uuid, p_raw_node uuid) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_link record;
begin
    if p_entry = p_raw then
        return;
    end if;
    for v_link in
        select l.source_id, l.target_id, l.type, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and p_raw_node in (l.source_id, l.target_id) and l.superseded_at is null and l.type <> 'expands'
          and p_entry not in (l.source_id, l.target_id)
        order by l.source_id, l.target_id, l.type
    loop
        perform loci.link_memories(p_namespace, case when v_link.source_id = p_raw_node then p_entry else v_link.source_id end,
                                   case when v_link.target_id = p_raw_node then p_entry else v_link.target_id end, v_link.type, v_link.strength);
    end loop;
    perform loci.link_memories(p_namespace, p_entry, p_raw, 'expands', 1);
end $$;
comment on function loci.expand_links(integer, text, uuid, uuid, uuid) is 'Links of a memory that was made of a raw one. Internal.';
