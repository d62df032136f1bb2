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

-- Give edges of one entity to another: those believed now (p_ids: only these). Each is closed and recorded anew with
-- the other end, at one moment, so that known_at before it still shows them as they were. Where the other has an edge
-- of the same type and target, the two become one, with the evidence of both. An edge between the two would lead from
-- an entity to itself: it is only closed. edge_moves says what each edge became. Edges are locked in order of id;
-- both entities are the caller's. Returns how many moved.
create or replace function loci_internal.move_edges(p_namespace_id integer, p_merge_id uuid, p_from uuid, p_to uuid,
                                                    p_ids uuid[], p_at timestamptz)
returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_ids   uuid[];
    v_moved integer;
    v_gone  uuid[];
    v_plan  jsonb;
begin
    v_ids := loci_internal.find_edges_to_move(p_namespace_id, p_from, p_to, p_ids);
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id for update;

    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select p_namespace_id, p_merge_id, x.id, m.new_id, x.part
    from (select loci_api.uuid7() as new_id, e.id, e.loop, e.met
          from (select i.id, (i.source_id, i.target_id) in ((p_from, p_to), (p_to, p_from)) as loop,
                       loci_internal.find_edge_id(p_namespace_id, case when i.source_id = p_from then p_to
                                                  else i.source_id end, i.type,
                                    case when i.target_id = p_from then p_to else i.target_id end, i.literal) as met
                from loci_data.edges i
                where i.namespace_id = p_namespace_id and i.id = any(v_ids) and i.superseded_at is null
                  and p_from in (i.source_id, i.target_id) order by i.id) e) m
    cross join lateral (values (m.id, case when m.loop then 'loop' else 'moved' end),
                        (case when not m.loop then m.met end, 'joined')) x(id, part)
    where x.id is not null;
    select count(*) filter (where m.part <> 'joined') into v_moved
    from loci_data.edge_moves m where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id
        and m.part <> 'undone';

    v_plan := loci_internal.plan_moved_edges(p_namespace_id, p_merge_id, p_from, p_to);
    v_gone := array(select m.old_id from loci_data.edge_moves m
                    where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id);
    perform loci_internal.close_edges(p_namespace_id, v_gone, p_at);
    perform loci_internal.record_edges(p_namespace_id, v_plan, v_gone, p_at);
    return v_moved;
end $$;
comment on function loci_internal.move_edges(integer, uuid, uuid, uuid, uuid[], timestamptz) is
    'Record the edges of an entity anew on another; how many.';

-- Edges of p_from that are believed now (p_ids: only these), and those of p_to that they meet when they move there.
create or replace function loci_internal.find_edges_to_move(p_namespace_id integer, p_from uuid, p_to uuid,
                                                            p_ids uuid[]) returns uuid[]
language plpgsql stable
as $$
declare
    v_ids uuid[];
begin
    v_ids := array(
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.source_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids))
        union
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.target_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids)));
    return v_ids || array(  -- those that they meet
        select loci_internal.find_edge_id(p_namespace_id, case when e.source_id = p_from then p_to
                                          else e.source_id end, e.type,
                            case when e.target_id = p_from then p_to else e.target_id end, e.literal)
        from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids));
end $$;
comment on function loci_internal.find_edges_to_move(integer, uuid, uuid, uuid[]) is
    'Edges of an entity, and those of another that they meet there.';

-- Edges as they are recorded anew by a merge that moves them from p_from to p_to, for record_edges, by what edge_moves
-- says of it: with the evidence of all that are one by it.
create or replace function loci_internal.plan_moved_edges(p_namespace_id integer, p_merge_id uuid, p_from uuid,
                                                          p_to uuid) returns jsonb
language plpgsql stable
as $$
begin
    return (
    with part as materialized (
        select m.new_id, m.old_id, m.part from loci_data.edge_moves m
        where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id and m.part in ('moved', 'joined')
    ), shown as (
        select p.new_id, array_agg(o.id order by p.part, o.recorded_at, o.id) as ids
        from part p
        cross join lateral (select v.id, v.recorded_at from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = p.old_id offset 0) o
        group by p.new_id
    ), ends as (
        select p.new_id, (array_agg(case when e.source_id = p_from then p_to else e.source_id end))[1] as source_id,
               (array_agg(case when e.target_id = p_from then p_to else e.target_id end))[1] as target_id,
               array_agg(p.old_id order by p.part) as base
        from part p
        cross join lateral (select i.source_id, i.target_id from loci_data.edges i
                            where i.namespace_id = p_namespace_id and i.id = p.old_id limit 1) e
        group by p.new_id
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', e.new_id, 'source_id', e.source_id, 'target_id', e.target_id,
                                                 'base', e.base, 'evidence', s.ids)), '[]')
    from ends e left join shown s using (new_id));
end $$;
comment on function loci_internal.plan_moved_edges(integer, uuid, uuid, uuid) is
    'Edges to record when those of an entity are moved to another.';

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
