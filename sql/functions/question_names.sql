-- Which names does a question hold: of entities, and of what one memory alone mentions so far? A name inside a longer one does
-- not count. One primary key look-up a phrase in entity_names and in name_candidates. Called by linked_memories; internal.
create or replace function loci.question_names(p_namespace_id integer, p_text text)
returns table (name text, entity_id uuid, memory_id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    with found as materialized (
        select p.place, p.width, p.name, k.entity_id, k.memory_id
        from loci.name_phrases(left(p_text, 2000), 8) p
        cross join lateral (
            select e.entity_id, null::uuid as memory_id from loci_data.entity_names e
            where e.namespace_id = p_namespace_id and e.canonical_name = p.name
            union all
            select null, c.memory_id from loci_data.name_candidates c
            where c.namespace_id = p_namespace_id and c.canonical_name = p.name
            offset 0) k
        where length(p.name) >= 3
    )
    select f.name, f.entity_id, f.memory_id from found f
    where not exists (select from found w where w.width > f.width and w.place <= f.place and w.place + w.width >= f.place + f.width);
end $$;
comment on function loci.question_names(integer, text) is 'Names in a question that entities or single memories are known by. Internal.';
