-- Entries that a model made of a memory, as items of loci_api.remember: with the validity, source, session, layer,
-- place,
-- metadata and confidence of that memory, and those of its entities that they name. p_corrects: the version that the
-- only entry takes the place of; its category stays where somebody chose one, its tags stay, and its importance does
-- where it was raised.
create or replace function loci_internal.enriched_items(p_namespace_id integer, p_raw loci_data.memories,
                                                        p_entries jsonb, p_corrects uuid) returns jsonb
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    return (
        select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'content', e.value -> 'content',
            'category', case when p_raw.category = 'general' then e.value -> 'category'
                else to_jsonb(p_raw.category) end,
            'tags', to_jsonb(
                array(select u.tag from (select t.tag, t.nth from unnest(p_raw.tags) with ordinality t(tag, nth)
                                   union all select t.tag, 100 + t.nth
                                       from jsonb_array_elements_text(coalesce(nullif(e.value -> 'tags', 'null'),
                                           '[]')) with ordinality t(tag, nth)) u
                             group by u.tag order by min(u.nth), u.tag limit 100)),
            'importance', case when p_raw.importance = 0.5 then
                coalesce(nullif(e.value -> 'importance', 'null'), '0.5') else to_jsonb(p_raw.importance) end,
            'layer', p_raw.layer, 'confidence', p_raw.confidence, 'source', p_raw.source,
            'session_id', p_raw.session_id,
            'corrects', p_corrects, 'valid_from', case when p_corrects is null then p_raw.valid_from end,
            'valid_to', case when p_corrects is null then p_raw.valid_to end,
            'parent_id', case when p_corrects is null
                then (select p.parent_id from loci_internal.parent_of(p_raw, clock_timestamp(), null) p) end,
            'entities', (select jsonb_agg(jsonb_build_object('name', n.name) order by n.name)
                         from loci_data.memory_mentions o
                         join loci_data.entities n on n.namespace_id = p_namespace_id and n.id = o.entity_id
                         where o.namespace_id = p_namespace_id and o.memory_id = p_raw.id
                           and strpos(lower(e.value ->> 'content'), lower(n.name)) > 0)))
            || jsonb_build_object('metadata', p_raw.metadata) order by e.nth), '[]')
        from jsonb_array_elements(p_entries) with ordinality e(value, nth));
end $$;
comment on function loci_internal.enriched_items(integer, loci_data.memories, jsonb, uuid) is
    'Entries made of a memory, as items of a write.';
