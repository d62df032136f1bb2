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
