-- What is embedded of a memory? When and by whom it was said where that is known, after the two turns before it in its
-- session: never later ones, so that a new turn changes no vector.
create or replace function loci_internal.memory_embedding_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select concat(
        case when p_memory.valid_from <> p_memory.recorded_at
             then to_char(p_memory.valid_from at time zone 'UTC', '"["FMDD FMMonth YYYY"] "') end,
        (select string_agg(left(concat_ws(': ', b.source, b.content), 2000), E'\n' order by b.valid_from, b.doc_id)
         || E'\n'
         from (select m.* from loci_data.memories m
               where m.namespace_id = p_memory.namespace_id and m.session_id = p_memory.session_id
                 and m.status = 'active'
                 and (m.valid_from, m.doc_id) < (p_memory.valid_from, p_memory.doc_id)
               order by m.valid_from desc, m.doc_id desc limit 2) b),
        concat_ws(': ', p_memory.source, p_memory.content))
$$;
comment on function loci_internal.memory_embedding_text(loci_data.memories) is
    'Text whose embedding stands for a memory.';

-- What is embedded of an entity? Name, type where it says something, aliases, description. Pure.
create or replace function loci_internal.entity_embedding_text(p_entity loci_data.entities) returns text
language sql immutable parallel safe
as $$
    select left(concat(p_entity.name, case when p_entity.type not in ('unknown', 'extracted')
                       then ' (' || replace(p_entity.type, '_', ' ') || ')' end,
                       (select string_agg(', ' || a.alias, '' order by a.place)
                        from unnest(p_entity.aliases) with ordinality a(alias, place)),
                       ': ' || p_entity.description), 30000)
$$;
comment on function loci_internal.entity_embedding_text(loci_data.entities) is
    'Text whose embedding stands for an entity.';
