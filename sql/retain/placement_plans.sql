-- Plans of a reflection: concepts, links, placements.

-- Which domains and concepts have to be made for planned places? For each path that is due one, and those above it, up
-- to the nearest that has one. The first step of a path is a domain (layer 0), the others are concepts; their names are
-- those of the steps. Parents first.
create or replace function loci_internal.plan_concepts(p_namespace_id integer, p_places loci_api.planned_place[],
                                                       p_settings jsonb)
returns table (path text, lineage text, content text, layer smallint, parent_id uuid, parent text)
language plpgsql stable set search_path = ''
as $$
begin
    return query
    with node as materialized (
        select * from loci_internal.category_concepts(p_namespace_id,
                                                      array(select distinct p.path from unnest(p_places) p
                                                            where p.path is not null), p_settings)
    ), wanted as (
        select n.*, a.path as above_path, a.lineage as above_lineage, a.concept_ids as above_ids
        from node n
        left join lateral (  -- the nearest above that has a concept, or will have one
            select u.* from node u where u.depth < n.depth and starts_with(n.path, u.path || '/')
                and (u.concept_ids is not null or u.is_due)
            order by u.depth desc limit 1) a on true
        where n.is_due and exists (
            select from unnest(p_places) p where (p.path = n.path or starts_with(p.path, n.path || '/'))
              and not exists (select from node b where b.concept_ids is not null and b.depth > n.depth
                              and (p.path = b.path or starts_with(p.path, b.path || '/'))))
    )
    select w.path, w.lineage, upper(left(s.name, 1)) || substr(s.name, 2), case when w.depth = 1 then 0
        else 1 end::smallint,
           w.above_ids[1],
           coalesce((select m.lineage from loci_data.memories m where m.namespace_id = p_namespace_id
                     and m.id = w.above_ids[1]), w.above_lineage)
    from wanted w
    cross join lateral (select translate(split_part(w.path, '/', w.depth), '_-', '  ') as name) s
    order by w.depth, w.path collate "C";
end $$;
comment on function loci_internal.plan_concepts(integer, loci_api.planned_place[], jsonb) is
    'Domains and concepts that planned places need, parents first.';

-- Which memories should reflect link to these orphans? The nearest by meaning (cosine from reflect_related on,
-- reflect_links each) among facts and episodes that will not stand under the same memory. Pairs that are linked, in
-- either direction, or whose link was taken back are left out after that, so that a second run finds no others. A
-- search by meaning for each orphan that has a vector.
create or replace function loci_internal.plan_links(p_namespace_id integer, p_namespace text,
                                                    p_orphans loci_api.orphan[], p_places loci_api.planned_place[],
                                                    p_settings jsonb)
returns table (source_id uuid, target_id uuid, strength double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_links integer := (p_settings ->> 'reflect_links')::integer;
begin
    return query
    with orphan as (
        select o.id, o.node_id, o.doc_id, v.embedding::real[] as embedding, p.parent
        from unnest(p_orphans) o
        cross join lateral (select w.embedding from loci_data.memory_vectors w
                            where w.namespace_id = p_namespace_id and w.memory_id = o.id
                              and w.model_id = v_model limit 1) v
        left join unnest(p_places) p on p.memory_id = o.id
    ), near as materialized (
        select o.id, o.node_id, o.doc_id, n.id as other_id, n.node_id as other_node, n.doc_id as other_doc, n.score
        from orphan o
        cross join lateral (
            select m.id, m.lineage_id as node_id, s.doc_id, s.score
            from loci.similar_memories(p_namespace, o.embedding, 4 * v_links + 1, '{"layers": [2, 3]}') s
            cross join lateral (select m.id, m.lineage_id from loci_data.memories m
                                where m.namespace_id = p_namespace_id and m.id = s.id limit 1) m
            left join unnest(p_places) p on p.memory_id = m.id
            left join lateral (select k.lineage from loci_data.memory_placements w
                               join loci_data.memories k on k.namespace_id = p_namespace_id and k.id = w.parent_id
                               where w.namespace_id = p_namespace_id and w.node_id = m.lineage_id
                                 and w.superseded_at is null
                                 and loci_internal.periods_overlap(w.valid_from, w.valid_to, clock_timestamp(), null)
                               limit 1) k on true
            where m.lineage_id <> o.node_id and s.score >= (p_settings ->> 'reflect_related')::double precision
              and (o.parent is null or coalesce(p.parent, k.lineage) is distinct from o.parent)
            order by s.score desc, s.doc_id limit v_links) n
    ), pair as (  -- the later one is the source, whichever of the two found the other
        select distinct on (least(n.node_id, n.other_node), greatest(n.node_id, n.other_node))
               case when n.doc_id > n.other_doc then n.id else n.other_id end as source, case
                   when n.doc_id > n.other_doc then n.other_id else n.id end as target,
               n.node_id, n.other_node, n.score
        from near n order by least(n.node_id, n.other_node), greatest(n.node_id, n.other_node), n.score desc, n.id,
             n.other_id
    )
    select p.source, p.target, round(least(p.score, 1)::numeric, 3)::double precision from pair p
    where not exists (select from loci_data.memory_links l where l.namespace_id = p_namespace_id
                      and (l.source_id, l.target_id) in ((p.node_id, p.other_node), (p.other_node, p.node_id)))
    order by p.score desc, p.source, p.target;
end $$;
comment on function loci_internal.plan_links(integer, text, loci_api.orphan[], loci_api.planned_place[], jsonb) is
    'Links that orphans should get to what means much the same elsewhere.';

-- Where should orphans stand? By their category: under the concept of the deepest of its paths that has one or is due
-- one; of several, the most similar. Else under the concept that means most like it (cosine from reflect_place on), or
-- without vectors, whose name it says. Else nowhere. Concepts are read once; similarity is exact.
create or replace function loci_internal.plan_placements(p_namespace_id integer, p_orphans loci_api.orphan[],
                                                         p_settings jsonb)
returns setof loci_api.planned_place
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now   loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    return query
    with node as materialized (
        select * from loci_internal.category_concepts(p_namespace_id,
                                                      array(select distinct o.category from unnest(p_orphans) o),
                                                      p_settings)
    ), orphan as materialized (
        select o.*, n.path, n.lineage as node, n.concept_ids, v.embedding
        from unnest(p_orphans) o
        left join lateral (select n.* from node n where (n.concept_ids is not null or n.is_due)
                             and (o.category = n.path or starts_with(o.category, n.path || '/'))
                           order by n.depth desc limit 1) n on true
        left join lateral (select w.embedding from loci_data.memory_vectors w
                           where w.namespace_id = p_namespace_id and w.memory_id = o.id
                             and w.model_id = v_model limit 1) v on true
    ), concept as materialized (
        select m.id, m.lineage, m.doc_id, v.embedding, (loci_internal.read_fact(m.content)).gist as gist
        from loci_data.memories m
        left join lateral (select w.embedding from loci_data.memory_vectors w
                           where w.namespace_id = p_namespace_id and w.memory_id = m.id
                             and w.model_id = v_model limit 1) v on true
        where m.namespace_id = p_namespace_id and m.layer <= 1 and loci_internal.memory_is_visible(m, v_now)
    )
    select o.id, o.node_id, c.id, coalesce(c.lineage, o.node), case when c.id is null then o.path end,
           round(c.similarity::numeric, 3)::double precision,
           case when c.by_category then format('concept of its category %s', o.path)
                when o.node is not null and o.concept_ids is null
                    then format('several memories are in the category %s', o.path)
                when c.by_name then 'says its name' else 'means the same' end
    from orphan o
    left join lateral (
        select k.id, k.lineage, s.similarity, k.id = any (o.concept_ids) as by_category, s.similarity is null as by_name
        from concept k
        cross join lateral (select 1 - (k.embedding <=> o.embedding) as similarity) s
        where case when o.node is not null then k.id = any (o.concept_ids)
                   when s.similarity is null then cardinality(k.gist) between 1 and 4
                   and k.gist <@ (loci_internal.read_fact(o.content)).gist
                   else s.similarity >= (p_settings ->> 'reflect_place')::double precision end
        order by s.similarity desc nulls last, k.doc_id limit 1) c on true
    where c.id is not null or o.node is not null
    order by o.doc_id;
end $$;
comment on function loci_internal.plan_placements(integer, loci_api.orphan[], jsonb) is
    'Where orphans should stand: under a concept that there is, or one that is to be made.';

-- Concepts that a model proposes (reflect, p_plan), as they fit what is there: the lineage that each would have, by its
-- title; the memory that has that lineage now and may stand above others (concept_id); and whether it can be made
-- (is_free): what somebody forgot is not made again. A parent that is gone, or of a narrower layer, is none. A probe of
-- indexes for each.
create or replace function loci_internal.proposed_nodes(p_namespace_id integer, p_plan jsonb)
returns table (key text, lineage text, content text, layer smallint, parent_id uuid, parent_key text, concept_id uuid,
               is_free boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    return query
    with given as (
        select g.*, 'concept/' || case when s.slug = '' or length(s.slug) > 200 then md5(lower(g.title))
            else s.slug end as lineage
        from jsonb_to_recordset(coalesce(p_plan -> 'concepts', '[]')) g(key text, title text, layer smallint,
                                                                        parent_id uuid, parent_key text, summary text)
        cross join lateral (select trim(regexp_replace(lower(g.title), '[^[:alnum:]]+', '-', 'g'), '-') as slug) s
    )
    select distinct on (g.lineage) g.key, g.lineage, concat_ws(E'\n', g.title, g.summary), g.layer, above.id,
                    g.parent_key, c.id,
           not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage = g.lineage)
    from given g
    left join lateral (select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                       and m.id = g.parent_id
                         and m.layer <= g.layer and loci_internal.memory_is_visible(m, v_now) limit 1) above on true
    left join lateral (select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                       and m.lineage = g.lineage
                         and m.layer <= 1 and loci_internal.memory_is_visible(m, v_now)
                       order by m.version desc limit 1) c on true
    where g.layer in (0, 1)
    order by g.lineage, g.key;
end $$;
comment on function loci_internal.proposed_nodes(integer, jsonb) is
    'Concepts that a model proposes, as they fit what is there.';

-- Where orphans should stand, by rules (p_places) and as a model proposes (p_plan). The rules' place stands where it
-- comes from the category, which somebody chose. Else the model's: a current domain or concept, or one that it proposes
-- and that can be made. If it has no fitting answer, that of the rules.
create or replace function loci_internal.proposed_placements(p_namespace_id integer, p_orphans loci_api.orphan[],
                                                             p_places loci_api.planned_place[], p_plan jsonb)
returns setof loci_api.planned_place
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    if p_plan is null then
        return query select p.* from unnest(p_places) p;
        return;
    end if;
    return query
    with node as materialized (
        select * from loci_internal.proposed_nodes(p_namespace_id, p_plan)
    ), given as (
        select distinct on (g.memory_id) g.memory_id, c.id as parent_id, coalesce(c.lineage, n.lineage) as parent
        from jsonb_to_recordset(coalesce(p_plan -> 'places', '[]')) g(memory_id uuid, parent_id uuid, key text)
        left join node n on n.key = g.key
        left join lateral (select m.id, m.lineage from loci_data.memories m where m.namespace_id = p_namespace_id
                             and m.id = coalesce(g.parent_id, n.concept_id) and m.layer <= 1
                             and loci_internal.memory_is_visible(m, v_now) limit 1) c on true
        where c.id is not null or n.is_free
        order by g.memory_id, parent
    )
    select o.id, o.node_id, case when g.memory_id is null then p.parent_id else g.parent_id end,
           coalesce(g.parent, p.parent),
           case when g.memory_id is null then p.path end, case when g.memory_id is null then p.similarity end,
           case when g.memory_id is null then p.reason else 'a model says so' end
    from unnest(p_orphans) o
    left join unnest(p_places) p on p.memory_id = o.id
    left join given g on g.memory_id = o.id and (p.memory_id is null or p.reason in ('means the same', 'says its name'))
    where g.memory_id is not null or p.memory_id is not null
    order by o.doc_id;
end $$;
comment on function loci_internal.proposed_placements(integer, loci_api.orphan[], loci_api.planned_place[], jsonb) is
    'Where orphans should stand, by rules and as a model proposes.';
