-- Entities that somebody stated, found in memories by name or alias (row R9): whole words, also in lower case and where no convention of
-- spelling tells a name. Those of type extracted are left to note_names, which knows them as the worker first saw them. JSON array of
-- {memory_id, entity_id, mention_text}, null for none. Cost: that of find_entities, a text at a time; one index look-up in a namespace
-- without stated entities. Called by note_names; internal. No errors.
create or replace function loci.stated_mentions(p_namespace_id integer, p_memories uuid[]) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if not exists (select from loci_data.entities e where e.namespace_id = p_namespace_id and e.type <> 'extracted' and e.merged_into is null) then
        return null;
    end if;
    return (
    select jsonb_agg(jsonb_build_object('memory_id', m.id, 'entity_id', e.id, 'mention_text', f.matched))
    from unnest(p_memories) c(memory_id)
    cross join lateral (select o.id, o.content from loci_data.memories o where o.namespace_id = p_namespace_id and o.id = c.memory_id limit 1) m
    cross join lateral loci.find_entities(p_namespace_id, left(m.content, 100000)) f
    cross join lateral (select n.id from loci_data.entities n
                        where n.namespace_id = p_namespace_id and n.id = f.id and n.type <> 'extracted' and n.merged_into is null limit 1) e);
end $$;
comment on function loci.stated_mentions(integer, uuid[]) is 'Mentions of stated entities in the texts of memories, as mention_entities takes them. Internal.';
