-- Links between memories of an import, which may have been merged into others. Security definer: link_memories checks
-- the caller. A link that is there stays as it is, and so does one from a lineage to itself. Three look-ups a link,
-- planned for any namespace. Errors: those of link_memories.
create or replace function loci_api.import_links(p_namespace text, p_links jsonb)
returns table (ordinal integer, outcome text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_link record;
begin
    for v_link in
        select l.place, l.type, l.source_id, l.target_id,
               (select m.lineage_id from loci_data.memories m
                where m.namespace_id = v_ns and m.id = l.source_id) as source,
               (select m.lineage_id from loci_data.memories m
                where m.namespace_id = v_ns and m.id = l.target_id) as target
        from rows from (jsonb_to_recordset(p_links) as (source_id uuid, target_id uuid, type text))
             with ordinality as l(source_id, target_id, type, place)
        order by l.place
    loop
        ordinal := v_link.place;
        if v_link.source = v_link.target or exists (
            select from loci_data.memory_links k where k.namespace_id = v_ns and k.source_id = v_link.source
               and k.target_id = v_link.target and k.type = v_link.type and k.superseded_at is null) then
            outcome := 'there';
        else
            perform count(*) from loci_api.link_memories(p_namespace, v_link.source_id, v_link.target_id, v_link.type);
            outcome := 'written';
        end if;
        return next;
    end loop;
end $$;
comment on function loci_api.import_links(text, jsonb) is
    'Link memories of an import: JSON array of {source_id, target_id, type}. One row an item, ordinal from 1: written '
    'or there. Errors: those of link_memories.';
