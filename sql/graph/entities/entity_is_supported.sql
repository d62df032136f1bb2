-- Does a memory in force mention this entity, or has it an active attribute? Then no pass removes it. Indexes
-- memory_mentions_entity, aspects_weight. Inlines.
create or replace function loci_internal.entity_is_supported(p_namespace_id integer, p_id uuid) returns boolean
language sql stable parallel safe
as $$
    select (select m.memory_id from loci_data.memory_mentions m
            cross join lateral (select from loci_data.memories o
                                where o.namespace_id = p_namespace_id and o.id = m.memory_id and o.status = 'active'
                                  and o.superseded_at is null
                                  and (o.valid_to is null or o.valid_to > now()) limit 1) o
            where m.namespace_id = p_namespace_id and m.entity_id = p_id limit 1) is not null
        or (select s.id from loci_data.aspects s
            cross join lateral (select from loci_data.attributes a
                                where a.namespace_id = p_namespace_id and a.aspect_id = s.id
                                  and a.status = 'active' limit 1) a
            where s.namespace_id = p_namespace_id and s.entity_id = p_id limit 1) is not null
$$;
comment on function loci_internal.entity_is_supported(integer, uuid) is
    'Whether a memory in force mentions an entity, or it has active attributes.';
