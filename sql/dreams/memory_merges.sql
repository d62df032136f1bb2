-- Merges of memories: one takes the place of several.

-- Make the memories that merges of others become, as remember takes them (item): [{made, place, observations,
-- last_observed_at, item}]. See merge_memories.
create or replace function loci_internal.make_merged_items(p_namespace_id integer, p_merges jsonb) returns jsonb
language sql stable set search_path = ''
as $$
    with source as materialized (
        select (t.step ->> 'id')::uuid as made, t.place, t.step, (i.value ->> 'id')::uuid as id
        from jsonb_array_elements(p_merges) with ordinality t(step, place)
        cross join lateral jsonb_array_elements(t.step -> 'sources') i(value)
    ), known as (
        select s.made, s.place, s.step, m.*, above.parent_id
        from source s
        cross join lateral (select o as row, o.* from loci_data.memories o where o.namespace_id = p_namespace_id
                            and o.id = s.id limit 1) m
        left join lateral (
            select p.parent_id from loci_internal.parent_of(m.row, clock_timestamp(), null) p
            where not exists (select from source x where x.made = s.made and x.id = p.parent_id)) above on true
    ), made as (
        select k.made, k.place, sum(k.observations) as observations, max(k.last_observed_at) as last_observed_at,
               jsonb_build_object(
                   'id', k.made, 'content', k.step ->> 'content', 'layer', min(k.layer),
                   'valid_from', min(k.valid_from), 'valid_to', max(k.valid_to),
                   'category',
                   coalesce(k.step ->> 'category', (array_agg(k.category order by k.recorded_at, k.doc_id))[1]),
                   'tags', (select coalesce(jsonb_agg(t.tag order by t.first), '[]') from (
                                select u.tag, min(u.nth) as first from jsonb_array_elements_text(jsonb_path_query_array(
                                    jsonb_agg(to_jsonb(k.tags) order by k.recorded_at, k.doc_id)
                                        || jsonb_build_array(coalesce(k.step -> 'tags', '[]')), '$[*][*]'))
                                    with ordinality u(tag, nth) group by u.tag order by 2 limit 100) t),
                   'importance', max(k.importance), 'confidence', max(k.confidence),
                   'source', case when count(distinct k.source) = 1
                       and count(k.source) = count(*) then min(k.source) end,
                   'about', case when count(distinct loci.canonical_name(k.about)) = 1
                       and count(k.about) = count(*) then min(k.about) end,
                   'session_id', case when count(distinct k.session_id) = 1
                       and count(k.session_id) = count(*) then min(k.session_id) end,
                   'parent_id',
                   (array_agg(k.parent_id order by k.recorded_at, k.doc_id) filter (where k.parent_id is not null))[1],
                   'metadata',
                   (select coalesce(jsonb_object_agg(e.key, e.value order by e.recorded_at desc, e.doc_id desc), '{}')
                                from known x cross join lateral (select x.recorded_at, x.doc_id, j.*
                                                                 from jsonb_each(x.metadata) j) e where x.made = k.made)
                               || jsonb_build_object('merged_from', jsonb_agg(k.id order by k.recorded_at, k.doc_id),
                                                     'first_recorded_at', min(k.recorded_at))
               ) as item
        from known k group by k.made, k.place, k.step
    )
    select jsonb_agg(to_jsonb(m) order by m.place) from made m
$$;
comment on function loci_internal.make_merged_items(integer, jsonb) is
    'Memories that merges of others become.';

-- Write the memories that stand for several others, and forget those. Its fields are computed, not asked of a model:
-- true since the earliest of them, as important and as sure as the most, reinforced as often as all together; tags of
-- all, metadata of all (the earliest's where they differ), merged_from and first_recorded_at in it. Everything that
-- hung on the sources hangs on it (repoint_memory_references). p_merges: [{id, sources: [{id}], content, category,
-- tags}], id of the memory to be. The caller has locked the sources. Errors: those of remember.
create or replace function loci_internal.merge_memories(p_namespace_id integer, p_namespace text, p_merges jsonb)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made jsonb;
begin
    -- at once: who has it together with others cannot have it alone without a deadlock
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    v_made := loci_internal.make_merged_items(p_namespace_id, p_merges);
    perform count(*) from loci_api.remember(p_namespace, jsonb_path_query_array(v_made, '$[*].item'));
    update loci_data.memories m set observations = t.observations,
        last_observed_at = greatest(t.last_observed_at, m.valid_from)
    from jsonb_to_recordset(v_made) t(made uuid, observations integer, last_observed_at timestamptz)
    where m.namespace_id = p_namespace_id and m.id = t.made;
    perform loci_internal.repoint_memory_references(p_namespace_id, array_agg((i.value ->> 'id')::uuid),
                                                    array_agg((t.step ->> 'id')::uuid))
    from jsonb_array_elements(p_merges) t(step) cross join lateral jsonb_array_elements(t.step -> 'sources') i(value);
    update loci_data.memories m set status = 'forgotten', updated_at = clock_timestamp()
    where m.namespace_id = p_namespace_id and m.id = any (array(
          select (i.value ->> 'id')::uuid from jsonb_array_elements(p_merges) t(step)
          cross join lateral jsonb_array_elements(t.step -> 'sources') i(value)));
end $$;
comment on function loci_internal.merge_memories(integer, text, jsonb) is
    'Write memories that stand for several others, and forget those.';

-- References to memories lead to those that stand for them: children, links, mentions, and facts that rest on them, so
-- that forgetting them withdraws none. Evidence of edges stays theirs, since given twice it would count
-- twice, and counts while the new one is active (carry_observations). Pairs of source and
-- new memory. Locks as every writer: hierarchy, entities by name, attributes by id.
create or replace function loci_internal.repoint_memory_references(p_namespace_id integer, p_sources uuid[],
                                                                   p_made uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_nodes jsonb := (select jsonb_object_agg(m.lineage_id, p.made) from unnest(p_sources, p_made) p(id, made)
                      cross join lateral (select o.lineage_id from loci_data.memories o
                                          where o.namespace_id = p_namespace_id and o.id = p.id limit 1) m);
    v_at    timestamptz;
begin
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    v_at := clock_timestamp();
    perform loci_internal.move_children(p_namespace_id, v_nodes, v_at);
    perform loci_internal.copy_links(p_namespace_id, v_nodes, v_at);
    perform loci_internal.copy_mentions(p_namespace_id, p_sources, p_made);
    perform loci_internal.carry_observations(p_namespace_id, p_sources, p_made);
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.memory_id = any (p_sources)
        and a.status = 'active'
    order by a.id for no key update;
    update loci_data.attributes a set memory_id = p.made, updated_at = greatest(a.updated_at, v_at)
    from unnest(p_sources, p_made) p(id, made)
    where a.namespace_id = p_namespace_id and a.memory_id = any (p_sources) and a.memory_id = p.id
      and a.status = 'active';
end $$;
comment on function loci_internal.repoint_memory_references(integer, uuid[], uuid[]) is
    'Let what hung on memories hang on those that stand for them.';

-- Children of merged lineages stand under the memories that stand for these, for as long as they did. p_nodes: new
-- memories by merged lineage. The caller has locked the hierarchy.
create or replace function loci_internal.move_children(p_namespace_id integer, p_nodes jsonb, p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids  uuid[] := array(select k::uuid from jsonb_object_keys(p_nodes) k);
    v_move record;
begin
    for v_move in
        select p.node_id, (p_nodes ->> p.parent_id::text)::uuid as parent,
               greatest(p.valid_from, m.valid_from) as since, p.valid_to
        from loci_data.memory_placements p
        cross join lateral (select o.valid_from from loci_data.memories o
                            where o.namespace_id = p_namespace_id and o.id = (p_nodes ->> p.parent_id::text)::uuid
                            limit 1) m
        where p.namespace_id = p_namespace_id and p.parent_id = any (v_ids) and p.superseded_at is null
          and coalesce(p.valid_to, 'infinity') > p_at and p.node_id <> all (v_ids)
        order by p.node_id, p.valid_from
    loop
        perform loci_internal.place_lineage(p_namespace_id, v_move.node_id, v_move.parent, v_move.since,
                                            v_move.valid_to, p_at);
    end loop;
end $$;
comment on function loci_internal.move_children(integer, jsonb, timestamptz) is
    'Put children of merged lineages under the memories that stand for these.';

-- Links of merged lineages to others are links of the memories that stand for these, too; merged_from links lead back.
-- p_nodes: new memories by merged lineage.
create or replace function loci_internal.copy_links(p_namespace_id integer, p_nodes jsonb, p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[] := array(select k::uuid from jsonb_object_keys(p_nodes) k);
begin
    insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
    select p_namespace_id, x.source, x.target, x.type, max(x.strength), p_at
    from (select coalesce((p_nodes ->> l.source_id::text)::uuid, l.source_id) as source,
                 coalesce((p_nodes ->> l.target_id::text)::uuid, l.target_id) as target, l.type, l.strength
          from loci_data.memory_links l
          where l.namespace_id = p_namespace_id and l.superseded_at is null
            and l.type not in ('merged_from', 'derived_from')
            and (l.source_id = any (v_ids) or l.target_id = any (v_ids))
          union all
          select n.value::uuid, n.key::uuid, 'merged_from', 1 from jsonb_each_text(p_nodes) n) x
    where x.source <> x.target
    group by x.source, x.target, x.type
    order by x.source, x.target, x.type
    on conflict do nothing;
end $$;
comment on function loci_internal.copy_links(integer, jsonb, timestamptz) is
    'Give links of merged lineages to the memories that stand for these.';

-- Memories that stand for others mention what these mention. Pairs of source and new memory.
create or replace function loci_internal.copy_mentions(p_namespace_id integer, p_sources uuid[], p_made uuid[])
returns void
language sql volatile set search_path = ''
as $$
    select loci_internal.insert_mentions(p_namespace_id, jsonb_agg(
        jsonb_build_object('memory_id', p.made, 'entity_id', n.entity_id, 'mention_text', n.mention_text)
        order by p.made, n.memory_id, n.entity_id))
    from unnest(p_sources, p_made) p(id, made)
    cross join lateral (select o.* from loci_data.memory_mentions o where o.namespace_id = p_namespace_id
                        and o.memory_id = p.id offset 0) n
    cross join lateral (select from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = n.entity_id
                        and e.merged_into is null limit 1) e
    having count(*) > 0
$$;
comment on function loci_internal.copy_mentions(integer, uuid[], uuid[]) is
    'Give mentions of memories to those that stand for them.';
