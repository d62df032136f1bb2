-- Which known entities, of any type, do the texts of memories name, by name or alias? Whole words. One that somebody
-- stated is found also in lower case, where no convention of spelling tells a name. One that was only extracted is
-- found where it is spelt with a capital and has several words, or in a script without capitals: "will" is no Will, and
-- of a single word the place in its clause tells whether it names somebody or calls (see find_names); found everywhere,
-- the names of two who talk would stand in all they say. JSON array of {memory_id, entity_id, mention_text}, null for
-- none. Cost: that of find_entities_in_text, a text at a time; one index look-up in a namespace without entities. No
-- errors.
create or replace function loci_internal.known_mentions(p_namespace_id integer, p_memories uuid[]) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if not exists (select from loci_data.entity_names e where e.namespace_id = p_namespace_id) then
        return null;
    end if;
    return (
    select jsonb_agg(jsonb_build_object('memory_id', m.id, 'entity_id', e.id, 'mention_text', f.matched))
    from unnest(p_memories) c(memory_id)
    cross join lateral (select o.id, o.content from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = c.memory_id limit 1) m
    cross join lateral loci_internal.find_entities_in_text(p_namespace_id, left(m.content, 100000), true) f
    cross join lateral (select n.id from loci_data.entities n
                        where n.namespace_id = p_namespace_id and n.id = f.id and n.merged_into is null
                          and (n.type <> 'extracted' or lower(left(f.matched, 1)) = upper(left(f.matched, 1))
                               or (position(' ' in f.matched) > 0
                                   and left(f.matched, 1) <> lower(left(f.matched, 1)))) limit 1) e);
end $$;
comment on function loci_internal.known_mentions(integer, uuid[]) is
    'Mentions of known entities in the texts of memories, as insert_mentions takes them.';
