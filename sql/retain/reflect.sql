-- Reflection: memories without a parent get one.

-- List the places that memories get, under the parents that were made for them (p_done: parent by memory). A dry run
-- returns all, otherwise those that were applied.
create or replace function loci_internal.list_places(p_places loci_api.planned_place[], p_done jsonb,
                                                     p_dry_run boolean) returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(
        jsonb_agg(jsonb_build_object('memory_id', p.memory_id, 'parent_id',
                                     coalesce(p_done -> p.memory_id::text, to_jsonb(p.parent_id)),
                                                 'parent', p.parent, 'similarity', p.similarity, 'reason', p.reason)
                                                     order by p.nth), '[]')
    from unnest(p_places) with ordinality p(memory_id, node_id, parent_id, parent, path, similarity, reason, nth)
    where p_dry_run or p_done ? p.memory_id::text
$$;
comment on function loci_internal.list_places(loci_api.planned_place[], jsonb, boolean) is
    'Places that memories get, with their reasons.';

-- Put facts and episodes that stand nowhere in their place, a page of p_limit of them, oldest first, and link what is
-- related. Plan, then apply: a dry run is the plan. Nothing moves that has, or had, a place, so a second run changes
-- nothing. Reflects of a namespace take turns. An orphan without a place is counted (left) and passed: the next page
-- begins after next_cursor. Links need vectors: what is placed before it has one gets none. Cost: a search by meaning
-- for each orphan. p_plan: what a model proposes for the page, checked by the service: concepts [{key, title, layer,
-- parent_id, parent_key, summary}], places [{memory_id, parent_id or key}], links [{source_id, target_id, type,
-- strength}], summaries [{memory_id, summary}]. Proposals that fit take the place of the rules' decisions where these
-- only guess (see proposed_placements); a summary becomes a version of a concept that reflect made. Errors: 42501,
-- P0002.
create or replace function loci_api.reflect(
    p_namespace text, p_limit integer default 200, p_category text default null, p_cursor bigint default null,
    p_dry_run boolean default false, p_plan jsonb default null)
returns table (placed jsonb, linked jsonb, created jsonb, summarised jsonb, visited integer, orphans_left integer,
               next_cursor bigint)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_orphans  loci_api.orphan[];
    v_places   loci_api.planned_place[];
    v_done     jsonb := '{}'; -- memory: its parent
    v_link     record;
begin
    if not p_dry_run then
        perform loci_internal.take_turn(v_ns, 'reflect');
    end if;
    v_orphans := loci_internal.find_orphans(v_ns, p_limit, rtrim(p_category, '/'), p_cursor);
    v_places := array(select p from loci_internal.plan_placements(v_ns, v_orphans, v_settings) p);
    v_places := array(select p from loci_internal.proposed_placements(v_ns, v_orphans, v_places, p_plan) p);
    select coalesce(jsonb_agg(to_jsonb(l)), '[]') into linked
    from loci_internal.proposed_links(v_ns, p_namespace, v_orphans, v_places, v_settings, p_plan) l;
    select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(n) || jsonb_build_object('id', loci_api.uuid7()))),
                    '[]') into created
    from (select * from loci_internal.plan_concepts(v_ns, v_places, v_settings) union all select *
          from loci_internal.proposed_concepts(v_ns, v_places, p_plan)) n;

    if not p_dry_run then
        select coalesce(jsonb_object_agg(a.memory_id, a.parent_id), '{}') into v_done
        from loci_internal.apply_places(v_ns, p_namespace, v_places, created) a;
        for v_link in select * from jsonb_to_recordset(linked) l(source_id uuid, target_id uuid, type text,
                                                                 strength double precision) loop
            perform loci_api.link_memories(p_namespace, v_link.source_id, v_link.target_id, v_link.type,
                                           v_link.strength);
        end loop;
    end if;
    placed := loci_internal.list_places(v_places, v_done, p_dry_run);
    if p_dry_run then
        select coalesce(jsonb_agg(n.value || '{"id": null}' order by n.nth), '[]') into created
        from jsonb_array_elements(created) with ordinality n(value, nth);
    end if;
    summarised := loci_internal.summarise_concepts(v_ns, p_namespace, p_plan, p_dry_run);
    visited := cardinality(v_orphans);
    orphans_left := visited - jsonb_array_length(placed);
    next_cursor := case when visited = p_limit then v_orphans[visited].doc_id end;
    return next;
end $$;
comment on function loci_api.reflect(text, integer, text, bigint, boolean, jsonb) is
    'Place a page of facts and episodes that stand nowhere under concepts, which are made from categories where '
    'needed, and link what is related; by rules, and as given. Errors: 42501, P0002.';

-- Which of the concepts that a model proposes have to be made? Those that can be and under which something will stand:
-- an orphan, or another of them under which one will. In the columns of plan_concepts, domains first, so parents first.
create or replace function loci_internal.proposed_concepts(p_namespace_id integer, p_places loci_api.planned_place[],
                                                           p_plan jsonb)
returns table (path text, lineage text, content text, layer smallint, parent_id uuid, parent text)
language plpgsql stable set search_path = ''
as $$
#variable_conflict use_column
begin
    if p_plan is null then
        return;
    end if;
    return query
    with node as materialized (
        select * from loci_internal.proposed_nodes(p_namespace_id, p_plan)
    ), used as (
        select n.key, n.parent_key from node n where n.is_free
            and exists (select from unnest(p_places) p where p.parent = n.lineage and p.parent_id is null)
    )
    select null::text, n.lineage, n.content, n.layer, coalesce(n.parent_id, a.concept_id), case
        when a.is_free then a.lineage end
    from node n
    left join node a on a.key = n.parent_key and n.parent_id is null and a.layer = 0 and n.layer = 1
    where n.is_free and (n.key in (select u.key from used u) or n.layer = 0
                         and n.key in (select u.parent_key from used u))
    order by n.layer, n.lineage collate "C";
end $$;
comment on function loci_internal.proposed_concepts(integer, loci_api.planned_place[], jsonb) is
    'Concepts to make that a model proposes, parents first.';

-- Links that reflect should make: those that a model proposes between orphans of the page, and the rules' (plan_links)
-- between other pairs. A pair that is linked, in either direction, or whose link was taken back gets none.
create or replace function loci_internal.proposed_links(
    p_namespace_id integer, p_namespace text, p_orphans loci_api.orphan[], p_places loci_api.planned_place[],
    p_settings jsonb, p_plan jsonb)
returns table (source_id uuid, target_id uuid, type text, strength double precision)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    with given as materialized (
        select distinct on (l.source_id, l.target_id, l.type) l.source_id, l.target_id, l.type, l.strength
        from jsonb_to_recordset(coalesce(p_plan -> 'links', '[]')) l(source_id uuid, target_id uuid, type text,
                                                                     strength double precision)
        join unnest(p_orphans) s on s.id = l.source_id join unnest(p_orphans) t on t.id = l.target_id
        where s.node_id <> t.node_id and not exists (
            select from loci_data.memory_links k where k.namespace_id = p_namespace_id
              and (k.source_id, k.target_id) in ((s.node_id, t.node_id), (t.node_id, s.node_id)))
        order by l.source_id, l.target_id, l.type, l.strength desc
    )
    select g.* from given g
    union all
    select r.source_id, r.target_id, 'related_to', r.strength
    from loci_internal.plan_links(p_namespace_id, p_namespace, p_orphans, p_places, p_settings) r
    where not exists (select from given g
                      where (g.source_id, g.target_id) in ((r.source_id, r.target_id), (r.target_id, r.source_id)));
end $$;
comment on function loci_internal.proposed_links(integer, text, loci_api.orphan[], loci_api.planned_place[], jsonb,
                                                 jsonb) is
    'Links between orphans that a model proposes, and those of the rules.';

-- What does a model need to put a page of orphans in order (reflect)? The orphans, with the place that the
-- rules would give them and whether that is certain (from the category, which somebody chose); and the domains and
-- concepts that there are, p_concepts at most, broadest and oldest first, those that orphans would stand under before
-- all: whether reflect may write a summary into it, and then what stands under it. Cost: that of planning, and an index
-- range. Security definer: reads past the policies; checks first. Errors: 42501, P0002.
create or replace function loci_api.orphans_to_place(
    p_namespace text, p_limit integer default 100, p_category text default null, p_cursor bigint default null,
    p_concepts integer default 200)
returns table (orphans jsonb, concepts jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_now      loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
    v_orphans  loci_api.orphan[] := loci_internal.find_orphans(v_ns, p_limit, rtrim(p_category, '/'), p_cursor);
    v_places   loci_api.planned_place[] := array(select p
                                                 from loci_internal.plan_placements(v_ns, v_orphans, v_settings) p);
begin
    select coalesce(
        jsonb_agg(jsonb_build_object('id', o.id, 'content', left((
            select loci_internal.text_with_subject(m.content, m.about) from loci_data.memories m
            where m.namespace_id = v_ns and m.id = o.id), 1000), 'category', o.category,
                                     'parent', p.parent,
                                                 'is_certain',
                                                 coalesce(p.reason not in ('means the same', 'says its name'), false))
                                                     order by o.doc_id), '[]')
    into orphans from unnest(v_orphans) o left join unnest(v_places) p on p.memory_id = o.id;

    select coalesce(jsonb_agg(jsonb_build_object(
        'id', c.id, 'lineage', c.lineage, 'title', left(split_part(c.content, E'\n', 1), 200), 'layer', c.layer,
        'parent', c.above, 'may_summarise', c.may_summarise,
        'members', case when c.may_summarise then (
            select coalesce(jsonb_agg(left(loci_internal.text_with_subject(k.content, k.about), 300) order by k.doc_id),
                            '[]')
            from (
                select m.content, m.about, m.doc_id from loci_data.memory_placements w
                join loci_data.memories m on m.namespace_id = v_ns and m.lineage_id = w.node_id
                     and loci_internal.memory_is_visible(m, v_now)
                where w.namespace_id = v_ns and w.parent_id = c.lineage_id and w.superseded_at is null
                order by m.doc_id desc limit 20) k) else '[]' end) order by c.layer, c.doc_id), '[]')
    into concepts
    from (
        select m.id, m.lineage, m.lineage_id, m.content, m.layer, m.doc_id,
               loci_internal.may_summarise_concept(m, v_settings) as may_summarise,
               (select a.lineage from loci_internal.parent_of(m, v_now.as_of, null) p join loci_data.memories a
                on a.namespace_id = v_ns and a.id = p.parent_id) as above
        from loci_data.memories m
        where m.namespace_id = v_ns and m.layer <= 1 and loci_internal.memory_is_visible(m, v_now)
        order by m.lineage in (select p.parent from unnest(v_places) p) desc, m.layer, m.doc_id limit p_concepts) c;
    return next;
end $$;
comment on function loci_api.orphans_to_place(text, integer, text, bigint, integer) is
    'A page of orphans with the places that the rules would give them, and the concepts that there are: what a '
    'decision elsewhere needs. Errors: 42501, P0002.';

-- Which current facts and episodes (layers 2 and 3) have never stood under another memory? Oldest first, after
-- p_cursor. A memory that was once placed and taken out again was taken out by someone, and is left alone. Walks the
-- unique index on doc_id; one look-up in placements for each memory passed.
create or replace function loci_internal.find_orphans(p_namespace_id integer, p_limit integer, p_category text,
                                                      p_cursor bigint) returns loci_api.orphan[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return array(
        select (m.doc_id, m.id, m.lineage_id, m.content, m.category, m.layer)::loci_api.orphan from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.doc_id > coalesce(p_cursor, -1) and m.layer >= 2
          and loci_internal.memory_is_visible(m, loci_internal.filter_at(clock_timestamp(), null))
          and (p_category is null or m.category = p_category or starts_with(m.category, p_category || '/'))
          and not exists (select from loci_data.memory_placements p where p.namespace_id = p_namespace_id
                          and p.node_id = m.lineage_id)
        order by m.doc_id limit p_limit);
end $$;
comment on function loci_internal.find_orphans(integer, integer, text, bigint) is
    'Current facts and episodes that never had a place in the hierarchy, a page of them.';
