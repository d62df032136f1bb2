-- Aspects of an entity, heaviest first, with what held under them at a moment, as known at another, most important first. Inlines.
-- Indexes aspects_weight, attributes_history. Called by constellation; internal.
create or replace function loci.constellation_aspects(p_namespace_id integer, p_entity_id uuid, p_as_of timestamptz, p_known_at timestamptz)
returns table (aspects json)
language sql stable parallel safe
as $$
    select json_agg(json_build_object('id', s.id, 'name', s.name, 'weight', s.weight, 'attributes', coalesce(t.attributes, '[]'))
                     order by s.weight desc, s.id)
    from loci_data.aspects s
    cross join lateral (
        select json_agg(json_build_object('id', a.id, 'kind', a.kind, 'content', a.content, 'importance', h.importance, 'memory_id', a.memory_id)
                         order by h.importance desc, a.id) as attributes
        from loci_data.attributes a cross join lateral loci.attribute_then(a, p_as_of, p_known_at) h
        where a.namespace_id = p_namespace_id and a.aspect_id = s.id and h.held) t
    where s.namespace_id = p_namespace_id and s.entity_id = p_entity_id and s.created_at <= p_known_at
$$;
comment on function loci.constellation_aspects(integer, uuid, timestamptz, timestamptz) is 'Aspects of an entity with what held under them. Internal.';
