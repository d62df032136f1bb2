-- Give the mentions of one entity to another, those of p_memories only unless null, and count them on both. A memory
-- that mentions both keeps both rows: the one on a merged entity is out of sight. Returns the memories. The caller
-- holds the entities.
create or replace function loci_internal.move_mentions(p_namespace_id integer, p_from uuid, p_to uuid,
                                                       p_memories uuid[]) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_memories uuid[];
begin
    with moved as (
        update loci_data.memory_mentions m set entity_id = p_to
        where m.namespace_id = p_namespace_id and m.entity_id = p_from
          and (p_memories is null or m.memory_id = any(p_memories))
          and not exists (select from loci_data.memory_mentions o
                          where o.namespace_id = p_namespace_id and o.memory_id = m.memory_id and o.entity_id = p_to)
        returning m.memory_id
    )
    select coalesce(array_agg(m.memory_id), '{}') into v_memories from moved m;
    update loci_data.entities e
    set mentions = loci_internal.count_mentions(p_namespace_id, e.id)
    where e.namespace_id = p_namespace_id and e.id in (p_from, p_to) and e.merged_into is null;
    return v_memories;
end $$;
comment on function loci_internal.move_mentions(integer, uuid, uuid, uuid[]) is
    'Move mentions between entities; the memories.';

-- How many memories mention an entity? Forgotten ones do not count. Index memory_mentions_entity, and a probe of the
-- primary key of memories each.
create or replace function loci_internal.count_mentions(p_namespace_id integer, p_entity_id uuid) returns integer
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select count(*)::integer from loci_data.memory_mentions n
    join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = n.memory_id and m.status = 'active'
    where n.namespace_id = p_namespace_id and n.entity_id = p_entity_id
$$;
comment on function loci_internal.count_mentions(integer, uuid) is
    'How many memories that are not forgotten mention an entity.';
