-- Mentions of erased memories go; the counters of the entities sink by those of memories that were not forgotten, never
-- below 0, and so do those of the sessions that the memories were observations of; a session that has nothing else on
-- an entity goes. An entity with one observation left has its initial confidence again; with more, it is unknown which
-- of them restored it, and confidence stays. Returns the entities that nothing mentions any more, not even what is
-- forgotten, and that go with them: those that nobody stated (entity_is_stated), those that were removed before, and
-- what was merged into them. Locked in order of canonical_name, like everywhere. Index ranges of memory_mentions.
create or replace function loci_internal.erase_mentions(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_entities uuid[] := array(select distinct m.entity_id from loci_data.memory_mentions m
                               where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids));
    v_standing jsonb := loci_internal.entities_standing_for(p_namespace_id, v_entities);
    v_active   uuid[] := array(select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                               and m.id = any (p_ids) and m.status = 'active');
    v_gone     uuid[];
begin
    if v_entities = '{}' then
        return '{}';
    end if;
    v_entities := array(select unnest(v_entities) union select value::uuid from jsonb_each_text(v_standing));
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_entities)
        and (e.merged_into is null or e.merged_into = e.id)
    order by e.canonical_name for update;
    with gone as materialized (
        delete from loci_data.memory_mentions m where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids)
        returning m.entity_id, m.memory_id, m.session_id, m.observed
    ), talk as materialized (
        select g.entity_id, g.session_id, count(*)::integer as times from gone g
        where g.observed and g.session_id is not null group by g.entity_id, g.session_id
    ), silenced as (
        delete from loci_data.entity_sessions s using talk t
        where s.namespace_id = p_namespace_id and s.entity_id = t.entity_id and s.session_id = t.session_id
          and s.observations <= t.times
    ), quieter as (
        update loci_data.entity_sessions s set observations = s.observations - t.times from talk t
        where s.namespace_id = p_namespace_id and s.entity_id = t.entity_id and s.session_id = t.session_id
          and s.observations > t.times
    ), counted as materialized (
        select s.id as entity_id,
               (count(*) filter (where g.memory_id = any (v_active) and s.id = g.entity_id))::integer as mentions,
               (count(*) filter (where g.observed and g.memory_id = any (v_active)))::integer as observations,
               bool_or(g.observed) as observed
        from gone g
        cross join lateral (select coalesce((v_standing ->> g.entity_id::text)::uuid, g.entity_id) as id) s
        group by s.id
    ), lowered as (
        update loci_data.entities e
        set mentions = greatest(e.mentions - c.mentions, 0),
            observations = greatest(e.observations - c.observations, 0),
            confidence = case when c.observed and e.observations - c.observations <= 1
                then e.initial_confidence else e.confidence end
        from counted c
        where e.namespace_id = p_namespace_id and e.id = c.entity_id and e.merged_into is null
        returning e.id, e.mentions
    )
    select array_agg(l.id) into v_gone from lowered l where l.mentions = 0;
    v_gone := array(
        select e.id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any (v_gone)
          and not loci_internal.entity_is_stated(e, p_ids) and not exists (  -- a forgotten memory may come back
               select from loci_data.memory_mentions m where m.namespace_id = p_namespace_id and m.entity_id = e.id));
    perform loci_internal.hide_entities(p_namespace_id, v_entities, clock_timestamp());
    v_gone := v_gone || array(
        select e.id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any (v_entities) and e.merged_into = e.id and not exists (
              select from loci_data.memory_mentions m where m.namespace_id = p_namespace_id and m.entity_id = e.id));
    return coalesce(loci_internal.with_merged(p_namespace_id, v_gone), '{}');
end $$;
comment on function loci_internal.erase_mentions(integer, uuid[]) is
    'Delete the mentions of memories and lower the counters of entities; those that nothing mentions any more.';

-- These entities, and all that were merged into them, over any number of merges. Index entities_merged_into.
create or replace function loci_internal.with_merged(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language sql stable set search_path = ''
as $$
    with recursive found as (
        select u.id from unnest(p_ids) u(id)
        union
        select e.id from found f join loci_data.entities e on e.namespace_id = p_namespace_id and e.merged_into = f.id
    )
    select array_agg(f.id) from found f
$$;
comment on function loci_internal.with_merged(integer, uuid[]) is
    'Entities and those that were merged into them.';

-- Which entities stand for those of some that were merged, by now? {id: id}; the others are left out. An observation
-- of a merged entity is one of this entity. A primary key look-up an entity, and one more a merge.
create or replace function loci_internal.entities_standing_for(p_namespace_id integer, p_ids uuid[]) returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_object_agg(e.id, s.id) filter (where s.id is not null), '{}')
    from loci_data.entities e
    cross join lateral (select loci_internal.surviving_entity_id(p_namespace_id, e.id) as id) s
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.merged_into is not null
$$;
comment on function loci_internal.entities_standing_for(integer, uuid[]) is
    'Entities that stand for merged ones, by their ids.';
