-- Removal of entities that nothing supports, and their return.

-- Take entities out of the graph without losing what was known of them: each keeps its row and leads nowhere
-- (merged_into is its own id), so that its name is free, and whatever looks for entities that stand for themselves
-- passes it by. At the same moment its edges are no longer believed, and its attributes are deleted; mentions,
-- aspects and the pin stay on it, out of sight. Before that moment (known_at) everything is as it was. return_entities
-- brings it all back. Those that are merged or removed already are passed over. p_at: not before this. Locks like every
-- writer: entities by canonical_name, aspects, edges by id, attributes. Returns those removed. Cost follows what hangs
-- on them. Errors: 40001 (one is gone).
create or replace function loci_internal.remove_entities(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_at    timestamptz := greatest(p_at, loci_internal.lock_entities(p_namespace_id, p_ids));
    v_ids   uuid[] := array(select e.id from loci_data.entities e
                            where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.merged_into is null
                            order by e.id);
    v_edges uuid[];
    v_facts uuid[];
begin
    if v_ids = '{}' then
        return v_ids;
    end if;
    perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.entity_id = any(v_ids) order by a.id
        for no key update;
    v_edges := array(
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any(v_ids)
            and e.superseded_at is null
        union
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any(v_ids)
            and e.superseded_at is null);
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_edges) order by e.id
        for update;
    -- one moment for all of it, by which return_entities finds what went: after every change of what goes
    v_at := greatest(v_at, (select max(e.updated_at) + interval '1 microsecond' from loci_data.edges e
                            where e.namespace_id = p_namespace_id and e.id = any(v_edges)));
    set local plan_cache_mode = auto;  -- triggers go by it, a row at a time
    perform loci_internal.close_edges(p_namespace_id, v_edges, v_at);
    perform loci_internal.refold_edges(p_namespace_id, v_edges, v_at);
    v_facts := array(select a.id from loci_data.attributes a
                     where a.namespace_id = p_namespace_id and a.taken_back_at is null and a.aspect_id = any(array(
                           select s.id from loci_data.aspects s where s.namespace_id = p_namespace_id
                               and s.entity_id = any(v_ids)))
                     order by a.id for no key update);
    update loci_data.attributes t set taken_back_at = v_at, updated_at = greatest(t.updated_at, v_at)
    where t.namespace_id = p_namespace_id and t.id = any(v_facts);
    perform loci_internal.refold_facts(p_namespace_id, v_facts, v_at);
    update loci_data.entities e set merged_into = e.id, merged_at = v_at, updated_at = v_at
    where e.namespace_id = p_namespace_id and e.id = any(v_ids);
    return v_ids;
end $$;
comment on function loci_internal.remove_entities(integer, uuid[], timestamptz) is
    'Take entities out of the graph, with their edges and attributes; history keeps them. Errors: 40001.';

-- Bring entities back that were removed: their names, the edges that went with them (edges_lost_with_entity), their
-- attributes, which stand as their memories do by now. Present rows win: a name that was taken is an error, an edge
-- that was stated anew stays as it is. Edges are recorded anew, so that known_at between the two moments has its
-- answer. Those that are not removed are passed over. p_at: not before this. Returns those that came back. Locks and
-- cost as in remove_entities. Errors: 23505 (the name is taken), 40001.
create or replace function loci_internal.return_entities(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_at   timestamptz := greatest(p_at, loci_internal.lock_entities(p_namespace_id, p_ids));
    v_gone jsonb := (select jsonb_object_agg(e.id, e.merged_at) from loci_data.entities e
                     where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.merged_into = e.id);
    v_ids  uuid[] := array(select k::uuid from jsonb_object_keys(v_gone) k order by k);
    v_name text := (select e.name from loci_data.entities e
                    join loci_data.entities o on o.namespace_id = p_namespace_id
                         and o.canonical_name = e.canonical_name and o.merged_into is null
                    where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id limit 1);
    v_plan jsonb;
    v_facts uuid[];
begin
    if v_name is not null then
        raise unique_violation using message = format('an entity named %L exists by now', v_name),
            constraint = 'entities_canonical_name_key',
            hint = 'Rename it first.';
    end if;
    set local plan_cache_mode = auto;  -- triggers go by it, a row at a time
    update loci_data.entities e
    set merged_into = null, merged_at = null, updated_at = v_at,
        mentions = loci_internal.count_mentions(p_namespace_id, e.id)
    where e.namespace_id = p_namespace_id and e.id = any(v_ids);

    perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.entity_id = any(v_ids) order by a.id
        for no key update;
    v_plan := loci_internal.edges_lost_with_entity(p_namespace_id, v_ids);
    perform from loci_data.edges e where e.namespace_id = p_namespace_id
        and e.id = any(array(select (p -> 'base' ->> 0)::uuid from jsonb_array_elements(v_plan) p)) order by e.id
      for update;
    perform loci_internal.record_edges(p_namespace_id, v_plan, '{}', v_at) where v_plan <> '[]';
    v_facts := array(select a.id from loci_data.attributes a
                     join loci_data.aspects s on s.namespace_id = p_namespace_id and s.id = a.aspect_id
                          and s.entity_id = any(v_ids)
                     where a.namespace_id = p_namespace_id and a.aspect_id = s.id
                       and a.taken_back_at = (v_gone ->> s.entity_id::text)::timestamptz
                     order by a.id for no key update of a);
    update loci_data.attributes t set taken_back_at = null, updated_at = greatest(t.updated_at, v_at)
    where t.namespace_id = p_namespace_id and t.id = any(v_facts);
    perform loci_internal.refold_facts(p_namespace_id, v_facts, v_at);
    return v_ids;
end $$;
comment on function loci_internal.return_entities(integer, uuid[], timestamptz) is
    'Bring removed entities back, with the edges and attributes that went with them. Errors: 23505, 40001.';

-- Which edges did entities lose because an end of them was removed, and may have back? JSON for record_edges. The
-- statement (source, type, target) recorded last returns, if it was closed in the very moment in which an end was
-- removed (entity_beliefs knows these), all ends stand for themselves now, and it has not been stated anew. Index
-- ranges of edges_source and edges_target.
create or replace function loci_internal.edges_lost_with_entity(p_namespace_id integer, p_ids uuid[]) returns jsonb
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with near as (
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any(p_ids)
        union all
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any(p_ids)
            and e.source_id <> all(p_ids)
    ), latest as materialized (
        select distinct on (n.source_id, n.type, n.target_id, n.literal) n.* from near n
        order by n.source_id, n.type, n.target_id, n.literal, n.recorded_at desc, n.id desc
    ), removal as materialized (
        select b.entity_id, b.believed_at from loci_data.entity_beliefs b
        where b.namespace_id = p_namespace_id and b.merged_into = b.entity_id and b.entity_id = any(array(
              select l.source_id from latest l where l.superseded_at is not null
              union select l.target_id from latest l where l.superseded_at is not null))
    ), lost as materialized (
        select l.id, l.source_id, l.target_id from latest l
        cross join lateral (select from loci_data.entities s
                            where s.namespace_id = p_namespace_id and s.id = l.source_id
                              and s.merged_into is null limit 1) source
        where ((l.source_id, l.superseded_at) in (select r.entity_id, r.believed_at from removal r)
               or (l.target_id, l.superseded_at) in (select r.entity_id, r.believed_at from removal r))
          and (l.target_id is null or exists (select from loci_data.entities t
               where t.namespace_id = p_namespace_id and t.id = l.target_id and t.merged_into is null))
    )
    select coalesce(
        jsonb_agg(jsonb_build_object('id', loci_api.uuid7(), 'source_id', l.source_id, 'target_id', l.target_id,
                                     'base', array[l.id],
               'evidence', array(select o.id from loci_data.edge_observations o
                                 where o.namespace_id = p_namespace_id and o.edge_id = l.id order by o.recorded_at,
                                     o.id)) order by l.id), '[]')
    from lost l
$$;
comment on function loci_internal.edges_lost_with_entity(integer, uuid[]) is
    'Edges that went when an end of them was removed, to be recorded anew.';

-- Did somebody state this entity, beside memories that are gone? It is pinned, or was observed by hand, in a
-- conversation or by another memory; or it has a fact that rests on none of them, or an aspect that no fact and no
-- edge has made. Forgetting hides, and erasing deletes, only what nobody stated. p_gone: memories that are erased;
-- null: those that are not active. Indexes aspects_weight, edges_source. Inlines.
create or replace function loci_internal.entity_is_stated(p_entity loci_data.entities, p_gone uuid[]) returns boolean
language sql stable parallel safe
as $$
    select (p_entity).pinned or (p_entity).observations > 0 or exists (
        select from loci_data.aspects a
        where a.namespace_id = (p_entity).namespace_id and a.entity_id = (p_entity).id
          and (exists (select from loci_data.attributes t
                       where t.namespace_id = a.namespace_id and t.aspect_id = a.id
                         and (t.memory_id is null or case when p_gone is not null then t.memory_id <> all (p_gone)
                              else exists (select from loci_data.memories m where m.namespace_id = a.namespace_id
                                           and m.id = t.memory_id and m.status = 'active') end))
               or not exists (select from loci_data.attributes t
                              where t.namespace_id = a.namespace_id and t.aspect_id = a.id)
                  and not exists (select from loci_data.edges e
                                  where e.namespace_id = a.namespace_id and e.source_id = a.entity_id
                                    and e.aspect_id = a.id)))
$$;
comment on function loci_internal.entity_is_stated(loci_data.entities, uuid[]) is
    'Whether an entity was stated by hand, or by what is not gone.';

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
