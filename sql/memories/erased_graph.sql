-- Erasure of what memories state of the graph.

-- Erase the evidence of memories, the edges that have none left (a literal may be their words), and the edges of
-- entities that go. Other edges, and those that an erased one had ended, are computed again from the evidence that is
-- left, with their beliefs. Returns the edges that went. Edges are locked in order of id, like everywhere. Index ranges
-- of edge_observations and edges.
create or replace function loci_internal.erase_edges(p_namespace_id integer, p_ids uuid[], p_entity_ids uuid[])
returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_dangling uuid[] := array(
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any (p_entity_ids)
        union
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any (p_entity_ids));
    v_shown    uuid[] := array(
        select distinct o.edge_id from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.memory_id = any (p_ids));
    v_gone     uuid[];
    v_rivals   uuid[];
begin
    if v_dangling || v_shown = '{}' then
        return '{}';
    end if;
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_dangling || v_shown)
        order by e.id for update;
    delete from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.memory_id = any (p_ids);
    v_gone := array(
        select d from unnest(v_dangling) d union
        select s from unnest(v_shown) s where not exists (  -- a correction alone shows nothing
               select from loci_data.edge_observations o
               where o.namespace_id = p_namespace_id and o.edge_id = s and o.reinforcement <> 'corrected'));
    v_rivals := array(  -- of edges that go: one of the same source and type that stays, believed or not
        select distinct on (e.source_id, e.type) o.id from loci_data.edges e
        join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type and y.single_valued
        cross join lateral (select x.id from loci_data.edges x where x.namespace_id = p_namespace_id
                            and x.source_id = e.source_id and x.type = e.type and x.id <> all (v_gone)
                            order by x.id limit 1) o
        where e.namespace_id = p_namespace_id and e.id = any (v_gone) order by e.source_id, e.type, o.id);
    delete from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.edge_id = any (v_gone);
    delete from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_gone);
    perform set_config('loci.erasing', 'on', true);
    v_shown := array(select s from unnest(v_shown) s where s <> all (v_gone) union select unnest(v_rivals));
    perform loci_internal.refold_edges(p_namespace_id, v_shown, clock_timestamp());
    perform loci_internal.rebuild_edge_beliefs(p_namespace_id, v_shown);
    perform set_config('loci.erasing', '', true);
    return v_gone;
end $$;
comment on function loci_internal.erase_edges(integer, uuid[], uuid[]) is
    'Delete the evidence of memories, edges that rested on nothing else, and edges of entities that go; their ids.';

-- Mentions of erased memories go (delete_mentions). Returns the entities that nothing mentions any more, not even what
-- is forgotten, and that go with them: those that nobody stated (entity_is_stated), those that were removed before,
-- and what was merged into them. Locked in order of canonical_name, like everywhere. Index ranges of memory_mentions.
create or replace function loci_internal.erase_mentions(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_entities uuid[] := array(select distinct m.entity_id from loci_data.memory_mentions m
                               where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids));
    v_standing jsonb := loci_internal.entities_standing_for(p_namespace_id, v_entities);
    v_gone     uuid[];
begin
    if v_entities = '{}' then
        return '{}';
    end if;
    v_entities := array(select unnest(v_entities) union select value::uuid from jsonb_each_text(v_standing));
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_entities)
        and (e.merged_into is null or e.merged_into = e.id)
    order by e.canonical_name for update;
    v_gone := loci_internal.delete_mentions(p_namespace_id, p_ids, v_standing);
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

-- Delete the mentions of memories. The counters of the entities sink by those of memories that were not forgotten,
-- never below 0, and so do those of the sessions that the memories were observations of; a session that has nothing
-- else on an entity goes. An entity with one observation left has its initial confidence again; with more, it is
-- unknown which of them restored it, and confidence stays. p_standing: entities that stand for merged ones
-- (entities_standing_for). Returns the entities that no memory mentions any more, but for what is forgotten. The caller
-- has locked them.
create or replace function loci_internal.delete_mentions(p_namespace_id integer, p_ids uuid[], p_standing jsonb)
returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_active uuid[] := array(select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                             and m.id = any (p_ids) and m.status = 'active');
    v_gone   uuid[];
begin
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
        cross join lateral (select coalesce((p_standing ->> g.entity_id::text)::uuid, g.entity_id) as id) s
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
    return v_gone;
end $$;
comment on function loci_internal.delete_mentions(integer, uuid[], jsonb) is
    'Delete the mentions of memories and lower the counters of entities and sessions; entities without mentions.';

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

-- Which memories come back when these are erased? A merged memory that goes because one of its sources is erased gives
-- its other sources back: they were forgotten only because it stood for them. Sources that are merged themselves, and
-- stay, come back as they are. Facts that rested on them before the merge rest on them again, as far as the change feed
-- still knows.
create or replace function loci_internal.merge_sources_left(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_left  uuid[];
    v_moved integer;
begin
    with recursive erased as materialized (
        select m.lineage_id, m.status from loci_data.memories m where m.namespace_id = p_namespace_id
            and m.id = any (p_ids)
    ), walk(id) as (
        select e.lineage_id from erased e where e.status = 'active'
        union
        select l.target_id from walk w
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.source_id = w.id
             and l.type = 'merged_from'
        where w.id in (select e.lineage_id from erased e)
    )
    select array_agg(m.id order by m.id) into v_left
    from walk w
    cross join lateral (select o.id, o.status, o.valid_to from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.lineage_id = w.id
                        order by o.version desc limit 1) m
    where m.status = 'forgotten' and m.id <> all (p_ids);
    if v_left is null then
        return '{}';
    end if;
    for v_moved in 1 .. 10 loop  -- merges of merges, back one by one
        update loci_data.attributes a set memory_id = c.before, updated_at = greatest(a.updated_at, clock_timestamp())
        from (select distinct on (x.subject_id) x.subject_id, (x.before ->> 'memory_id')::uuid as before,
              (x.after ->> 'memory_id')::uuid as after
              from (select o.subject_id, o.before, o.after, true as late, o.id as nth from loci_data.outbox o
                    where o.namespace_id = p_namespace_id and o.kind = 'attribute' and o.before ? 'memory_id'
                    union all
                    select h.subject_id, h.before, h.after, false, h.position from loci_data.attributes t
                    join loci_data.changes h on h.namespace_id = p_namespace_id and h.subject_id = t.id
                         and h.kind = 'attribute' and h.before ? 'memory_id'
                    where t.namespace_id = p_namespace_id and t.memory_id = any (p_ids)) x
              where (x.after ->> 'memory_id')::uuid = any (p_ids)
              order by x.subject_id, x.late desc, x.nth desc) c
        where a.namespace_id = p_namespace_id and a.id = c.subject_id and a.memory_id = c.after
          and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = c.before);
        exit when not found;
    end loop;
    return v_left;
end $$;
comment on function loci_internal.merge_sources_left(integer, uuid[]) is
    'Sources of erased merges that are not erased themselves.';
