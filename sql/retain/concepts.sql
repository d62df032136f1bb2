-- Concepts: places of categories, and their summaries.

-- Make planned domains and concepts, and put orphans under their parents for all time, as a first write with parent_id
-- does. The hierarchy is held alone first; what got a place, or lost its parent, since it was planned is left out.
-- Returns the memories placed and their parents. Errors: those of remember, 23514 (layers).
create or replace function loci_internal.apply_places(p_namespace_id integer, p_namespace text,
                                                      p_places loci_api.planned_place[], p_nodes jsonb)
returns table (memory_id uuid, parent_id uuid)
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made  jsonb := '{}'; -- lineage: id
    v_place record;
begin
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    if p_nodes <> '[]' then
        select coalesce(jsonb_object_agg(n.value ->> 'lineage', r.id), '{}') into v_made
        from loci_api.remember(p_namespace, (
            select jsonb_agg(n.value - 'parent' - 'path' || jsonb_build_object('category', n.value -> 'path', 'source',
                'reflect',
                   'parent_id', coalesce(n.value -> 'parent_id', above.value -> 'id')) order by n.nth)
            from jsonb_array_elements(p_nodes) with ordinality n(value, nth)
            left join jsonb_array_elements(p_nodes) above(value) on above.value ->> 'lineage' = n.value ->> 'parent')) r
        join jsonb_array_elements(p_nodes) with ordinality n(value, nth) on n.nth = r.ordinal + 1;
    end if;
    for v_place in
        select p.memory_id, p.node_id, coalesce(p.parent_id, (v_made ->> p.parent)::uuid) as parent_id,
               m.lineage_id as parent_node
        from unnest(p_places) with ordinality p(memory_id, node_id, parent_id, parent, path, similarity, reason, nth)
        cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = p_namespace_id
                            and m.id = coalesce(p.parent_id, (v_made ->> p.parent)::uuid)
                            and m.status = 'active' limit 1) m
        where exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p.memory_id)
          and not exists (select from loci_data.memory_placements w where w.namespace_id = p_namespace_id
                          and w.node_id = p.node_id)
        order by p.nth
    loop
        perform loci_internal.place_lineage(p_namespace_id, v_place.node_id, v_place.parent_node, '-infinity', null,
                                            clock_timestamp());
        memory_id := v_place.memory_id;
        parent_id := v_place.parent_id;
        return next;
    end loop;
end $$;
comment on function loci_internal.apply_places(integer, text, loci_api.planned_place[], jsonb) is
    'Make planned concepts and place orphans.';

-- Write the summaries that a model proposes (reflect, p_plan) into concepts: a new version of each, whose first line
-- stays. Only of those that reflect itself made or last wrote, that are current and not protected: what a person wrote
-- stays theirs. One write for all. Returns [{id, lineage, content}]; in a dry run without ids. Errors: those of
-- remember.
create or replace function loci_internal.summarise_concepts(p_namespace_id integer, p_namespace text, p_plan jsonb,
                                                            p_dry_run boolean) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_now      loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_items    jsonb;
begin
    select coalesce(jsonb_agg(jsonb_build_object(
        'lineage', m.lineage, 'content', split_part(m.content, E'\n', 1) || E'\n' || s.summary, 'source', 'reflect',
        'confidence', m.confidence, 'metadata', m.metadata) order by m.lineage), '[]') into v_items
    from (select distinct on (u.memory_id) u.*
          from jsonb_to_recordset(coalesce(p_plan -> 'summaries', '[]')) u(memory_id uuid, summary text)
          order by u.memory_id, u.summary) s
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = s.memory_id limit 1) m
    where loci_internal.memory_is_visible(m, v_now) and loci_internal.may_summarise_concept(m, v_settings)
      and not exists (select from loci_data.memories o where o.namespace_id = p_namespace_id and o.lineage = m.lineage
                      and o.version > m.version);
    if p_dry_run or v_items = '[]' then
        return (select
                coalesce(jsonb_agg(jsonb_build_object('id', null, 'lineage', i.value -> 'lineage',
                                                      'content', i.value -> 'content') order by i.nth), '[]')
                from jsonb_array_elements(v_items) with ordinality i(value, nth));
    end if;
    return (select jsonb_agg(jsonb_build_object('id', r.id, 'lineage', i.value -> 'lineage',
                                                'content', i.value -> 'content') order by i.nth)
            from loci_api.remember(p_namespace, v_items) r
            join jsonb_array_elements(v_items) with ordinality i(value, nth) on i.nth = r.ordinal + 1);
end $$;
comment on function loci_internal.summarise_concepts(integer, text, jsonb, boolean) is
    'Write summaries that a model proposes into concepts that reflect made.';

-- Which memories stand for the category paths that orphans are in, and which paths should have one? Every path and its
-- prefixes, but for `general`, which says nothing. concept_ids: current domains and concepts (layers 0 and 1) of that
-- category, those that reflect made first. is_due: there is none, enough facts and episodes are in it or below
-- (reflect_new), and the lineage that reflect would give it is free: what somebody forgot is not made again. An index
-- range for each path.
create or replace function loci_internal.category_concepts(p_namespace_id integer, p_categories text[],
                                                           p_settings jsonb)
returns table (path text, depth integer, lineage text, concept_ids uuid[], is_due boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    return query
    with step as (
        select distinct array_to_string(s.steps[:d], '/') as path, d as depth
        from (select string_to_array(c, '/') as steps from unnest(p_categories) c where c <> 'general') s
        cross join generate_series(1, cardinality(s.steps)) d
    ), named as (
        select s.path, s.depth, case when length(s.path) <= 240 then 'category/' || s.path
            else 'category/' || md5(s.path) end as lineage from step s
    )
    select n.path, n.depth, n.lineage, c.ids,
           c.ids is null
           and not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                           and m.lineage = n.lineage)
           and (select count(*) from (
                    select from loci_data.memories m
                    where m.namespace_id = p_namespace_id and m.category collate "C" = n.path and m.layer >= 2
                      and loci_internal.memory_is_visible(m, v_now)
                    union all
                    select from loci_data.memories m
                    where m.namespace_id = p_namespace_id and m.category collate "C" > n.path || '/'
                      and m.category collate "C" < n.path || '0'
                      and m.layer >= 2 and loci_internal.memory_is_visible(m, v_now)
                    limit (p_settings ->> 'reflect_new')::integer) f) >= (p_settings ->> 'reflect_new')::integer
    from named n
    cross join lateral (
        select array_agg(m.id order by m.lineage <> n.lineage, m.doc_id) as ids from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.category collate "C" = n.path and m.layer <= 1
          and loci_internal.memory_is_visible(m, v_now)) c;
end $$;
comment on function loci_internal.category_concepts(integer, text[], jsonb) is
    'Concepts of category paths, and paths that should have one.';

-- May reflect write a summary into this memory? Into domains and concepts that it made or last wrote itself, and that
-- are not protected. Inlines.
create or replace function loci_internal.may_summarise_concept(p_memory loci_data.memories, p_settings jsonb)
returns boolean
language sql stable
as $$
    select p_memory.layer <= 1 and p_memory.source is not distinct from 'reflect'
       and p_memory.importance < (p_settings ->> 'protected_importance')::double precision
       and p_memory.observations < (p_settings ->> 'protected_observations')::integer
$$;
comment on function loci_internal.may_summarise_concept(loci_data.memories, jsonb) is
    'Whether reflect may write a summary into a concept.';
