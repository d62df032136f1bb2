-- What a merge moves to the surviving entity.

-- Give the aspects of one entity to another, those of p_ids only unless null. Where the other has one by that name, its
-- attributes move, and the empty one stays behind. Returns {"aspects": [ids], "attributes": [[id, aspect that it left],
-- …]}. The caller holds the entities.
create or replace function loci_internal.move_aspects(p_namespace_id integer, p_from uuid, p_to uuid, p_ids uuid[],
                                                      p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_aspects    jsonb;
    v_attributes jsonb;
begin
    with met as materialized (
        select a.id as from_id, k.id as to_id
        from loci_data.aspects a
        join loci_data.aspects k on k.namespace_id = p_namespace_id and k.entity_id = p_to
             and k.canonical_name = a.canonical_name
        where a.namespace_id = p_namespace_id and a.entity_id = p_from and (p_ids is null or a.id = any(p_ids))
    ), moved as (
        update loci_data.attributes t set aspect_id = m.to_id
        from met m where t.namespace_id = p_namespace_id and t.aspect_id = m.from_id
        returning t.id, m.from_id
    )
    select jsonb_agg(jsonb_build_array(m.id, m.from_id)) into v_attributes from moved m;
    with moved as (
        update loci_data.aspects a set entity_id = p_to, updated_at = greatest(a.updated_at, p_at)
        where a.namespace_id = p_namespace_id and a.entity_id = p_from and (p_ids is null or a.id = any(p_ids))
          and not exists (select from loci_data.aspects k
                          where k.namespace_id = p_namespace_id and k.entity_id = p_to
                            and k.canonical_name = a.canonical_name)
        returning a.id
    )
    select jsonb_agg(m.id) into v_aspects from moved m;
    return jsonb_build_object('aspects', coalesce(v_aspects, '[]'), 'attributes', coalesce(v_attributes, '[]'));
end $$;
comment on function loci_internal.move_aspects(integer, uuid, uuid, uuid[], timestamptz) is
    'Move aspects between entities; what moved.';

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

-- Which entity does this id stand for? Itself, or the one that it was merged into, over any number of merges; null:
-- there is none, or it was removed. A primary key look-up a merge.
create or replace function loci_internal.surviving_entity_id(p_namespace_id integer, p_id uuid) returns uuid
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_id   uuid := p_id;
    v_into uuid;
begin
    loop
        select e.merged_into into v_into from loci_data.entities e where e.namespace_id = p_namespace_id
            and e.id = v_id;
        if not found then
            return null;
        elsif v_into is null then
            return v_id;
        elsif v_into = v_id then
            return null;  -- removed: it leads nowhere
        end if;
        v_id := v_into;
    end loop;
end $$;
comment on function loci_internal.surviving_entity_id(integer, uuid) is
    'The entity that an id stands for, after merges; null if there is none, or it was removed.';

-- Trigger: what is written to an entity that was merged into another, or removed, while the writer waited is refused
-- (40001), so that the writer looks the name up again. Edges, mentions and aspects: after the foreign key has waited
-- for the merge; the entity itself: on update. Lines of an export are let through: rows of the past stand on merged
-- entities. Costs one index probe where nothing was ever merged.
create or replace function loci_internal.refuse_merged() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_merged uuid[];
begin
    if tg_table_name = 'entities' then
        v_merged := array[old.id];
    elsif current_setting('loci.restoring', true) is distinct from 'on' then
        v_merged := array(select e.id from loci_data.entities e
                          where e.namespace_id = (select a.namespace_id from added a limit 1)
                            and e.merged_into is not null);
        if v_merged = '{}' then
            return null;
        elsif tg_table_name = 'edges' then
            v_merged := array(select a.source_id from added a where a.superseded_at is null
                              and a.source_id = any(v_merged)
                              union select a.target_id from added a where a.superseded_at is null
                                  and a.target_id = any(v_merged));
        else
            v_merged := array(select a.entity_id from added a where a.entity_id = any(v_merged));
        end if;
    end if;
    if v_merged <> '{}' then
        raise serialization_failure
            using message = format('entity %s was merged into another or removed while it was written', v_merged[1]),
            hint = 'Try again.';
    end if;
    return null;
end $$;
comment on function loci_internal.refuse_merged() is
    'Trigger: refuse what is written to an entity that has just been merged into another or removed.';

-- Nothing is written to an entity that was merged into another or removed: names and ids lead to the one that stays, or
-- nowhere.
create or replace trigger entities_merged before update on loci_data.entities
    for each row when (old.merged_into is not null and new.merged_into is not distinct from old.merged_into)
    execute function loci_internal.refuse_merged();

create or replace trigger edges_merged after insert on loci_data.edges
    referencing new table as added for each statement execute function loci_internal.refuse_merged();

create or replace trigger memory_mentions_merged after insert on loci_data.memory_mentions
    referencing new table as added for each statement execute function loci_internal.refuse_merged();

create or replace trigger aspects_merged after insert on loci_data.aspects
    referencing new table as added for each statement execute function loci_internal.refuse_merged();
