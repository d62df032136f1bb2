-- What is embedded of an entity (row G11)? Name, type where it says something, aliases, description. Pure.
-- Called by claim_entities and store_entity_vectors, which compares it: an entity that changed meanwhile waits on. Internal.
create or replace function loci.entity_text(p_entity loci_data.entities) returns text
language sql immutable parallel safe
as $$
    select left(concat(p_entity.name, case when p_entity.type not in ('unknown', 'extracted') then ' (' || replace(p_entity.type, '_', ' ') || ')' end,
                       (select string_agg(', ' || a.alias, '' order by a.place) from unnest(p_entity.aliases) with ordinality a(alias, place)),
                       ': ' || p_entity.description), 30000)
$$;
comment on function loci.entity_text(loci_data.entities) is 'Text whose embedding stands for an entity. Internal.';
