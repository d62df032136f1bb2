-- What do the entities of an extraction mean here, and which may be written? One row an item, ordinal from 1. By id: the entity, or the one that it was
-- merged into; one that was removed is refused (gone). By name: the one that has it as name or alias; a new name shorter than the
-- setting extracted_length is refused (short, row G3). name: as it is called here. Evidence whose memory is no longer in force is none, and
-- an item that loses all of it so is refused (gone). A description is kept for an entity that has none yet: no model talks over what stands.
-- Called by apply_extraction; internal.
create or replace function loci.extracted_entities(p_namespace_id integer, p_entities jsonb)
returns table (ordinal integer, key integer, id uuid, name text, stated jsonb, evidence jsonb, guard text)
language sql stable set search_path = ''
as $$
    with item as (
        select i.ordinal::integer as ordinal, (i.item ->> 'key')::integer as key, i.item,
               case when i.item ->> 'id' is not null then loci.kept_id(p_namespace_id, (i.item ->> 'id')::uuid)
                    else loci.entity_id(p_namespace_id, i.item ->> 'name') end as id,
               loci.present_evidence(p_namespace_id, i.item -> 'evidence') as evidence
        from jsonb_array_elements(p_entities) with ordinality i(item, ordinal)
    )
    select i.ordinal, i.key, e.id, coalesce(e.name, i.item ->> 'name'),
           jsonb_strip_nulls(jsonb_build_object('type', i.item -> 'type', 'aliases', i.item -> 'aliases',
               'description', case when e.description is null then i.item -> 'description' end)),
           i.evidence,
           case when i.item ->> 'id' is not null and e.id is null then 'gone'
                when i.evidence = '[]' and i.item -> 'evidence' <> '[]' then 'gone'
                when e.id is null and length(i.item ->> 'name') < (loci.settings(p_namespace_id) ->> 'extracted_length')::integer then 'short' end
    from item i
    left join lateral (select x.id, x.name, x.description from loci_data.entities x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.merged_into is null limit 1) e on true
$$;
comment on function loci.extracted_entities(integer, jsonb) is 'What the entities of an extraction mean, and which guard refuses them. Internal.';
