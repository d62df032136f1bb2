-- What is embedded of a memory? What it says, whom it is about, and who said it. Neither when (a question that names a
-- date has its words) nor the turns before it: they help where all turns are short, and where replies are long they
-- drown the message. Measured: docs/design/recall.md.
create or replace function loci_internal.memory_embedding_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
return concat_ws(': ', p_memory.source, loci_internal.text_with_subject(p_memory.content, p_memory.about));
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
