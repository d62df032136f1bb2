-- Enrichment pass: a raw memory is replaced by entries that say the same.

-- Write the entries of a memory as memories of their own, linked to it; those that are known already are reinforced.
-- Returns all of them, in order of id.
create or replace function loci_internal.expand_memory(p_namespace_id integer, p_namespace text,
                                                       p_raw loci_data.memories, p_entries jsonb) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids   uuid[];
    v_entry uuid;
begin
    v_ids := array(select k.id from jsonb_array_elements(p_entries) with ordinality e(value, nth)
                   left join lateral (select m.id from loci_data.memories m
                                      where m.namespace_id = p_namespace_id
                                        and m.content_hash = loci_internal.content_hash(e.value ->> 'content')
                                        and m.valid_to is null
                                        and m.status = 'active' and m.layer <> 3 order by m.id <> p_raw.id,
                                            m.fold_scope limit 1) k on true order by e.nth);
    update loci_data.memories m set observations = m.observations + 1, last_observed_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where m.namespace_id = p_namespace_id and m.id = any (v_ids) and m.id <> p_raw.id;
    v_ids := v_ids || array(
        select r.id from loci_api.remember(p_namespace, loci_internal.enriched_items(p_namespace_id, p_raw, (
            select jsonb_agg(e.value order by e.nth) from jsonb_array_elements(p_entries) with ordinality e(value, nth)
            where v_ids[e.nth] is null), null)) r
        where array_position(v_ids, null) is not null);
    v_ids := array(select distinct u from unnest(v_ids) u where u is not null order by u);
    foreach v_entry in array v_ids loop
        perform loci_internal.expand_enriched_links(p_namespace_id, p_namespace, v_entry, p_raw.id, p_raw.lineage_id);
    end loop;
    return v_ids;
end $$;
comment on function loci_internal.expand_memory(integer, text, loci_data.memories, jsonb) is
    'Write the entries of a memory as memories of their own.';

-- Put what a model made of a saved memory in its place. p_entries: [{content, category, tags, importance}], checked by
-- the service; what rows say is checked here. One entry corrects the memory: a version of its lineage with the same
-- validity; in the same words it only adds category and tags. Several, one that another memory says already, or those
-- of a protected memory, are memories of their own: same validity, source, session and place, linked to the raw one
-- (expands) and to what that was linked to; what is there already in the same words is reinforced. Then the raw one is
-- forgotten, unless it is protected or one of the entries says just the same. No row: it was changed or erased
-- meanwhile, and nothing is done. Lineage and memory are locked first. Security definer: writes past the policies;
-- checks first. Errors: 42501, P0002, 22023, those of remember.
create or replace function loci_api.enrich_memory(p_namespace text, p_id uuid, p_entries jsonb)
returns table (action text, ids uuid[])
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_raw     loci_data.memories;
    v_sought  record;
    v_ids     uuid[];
begin
    select m.lineage into v_sought from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id;
    if not found or not loci_internal.lock_facts(v_ns,
                                                 array[jsonb_populate_record(null::loci_api.fact_decision,
                                                     jsonb_build_object('ordinal', 0, 'action', 'update', 'target_id',
                                                                        p_id, 'lineage', v_sought.lineage))],
                                                 null) then
        return;
    end if;
    select e.is_named, e.is_protected into v_sought from loci_api.memory_to_enrich(p_namespace, p_id, 0) e;
    if not found then
        return;
    elsif v_sought.is_named and jsonb_array_length(p_entries) > 1 then
        raise invalid_parameter_value using column = 'entries',
            message = 'a memory of a named lineage can only become one memory';
    end if;
    select * into v_raw from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id;
    if jsonb_array_length(p_entries) = 1 and not v_sought.is_protected and (v_sought.is_named or not exists (
           select from loci_data.memories m where m.namespace_id = v_ns
               and m.content_hash = loci_internal.content_hash(p_entries -> 0 ->> 'content')
             and m.valid_to is null and m.status = 'active' and m.layer <> 3 and m.id <> p_id)) then
        return query select c.action, c.ids from loci_internal.correct_memory(v_ns, p_namespace, v_raw, p_entries) c;
        return;
    end if;

    v_ids := loci_internal.expand_memory(v_ns, p_namespace, v_raw, p_entries);
    if not v_sought.is_protected and p_id <> all (v_ids) then
        perform loci_internal.carry_observations(v_ns, array_fill(p_id, array[cardinality(v_ids)]), v_ids);
        perform loci_api.forget_memory(p_namespace, p_id, true);
    end if;
    return query select 'expanded', array[p_id] || array_remove(v_ids, p_id);
end $$;
comment on function loci_api.enrich_memory(text, uuid, jsonb) is
    'Put well-formed entries in the place of a saved memory; no row: it was changed meanwhile. Errors: 42501, P0002, '
    '22023.';

-- Correct a memory by the only entry that was made of it: a version of its lineage with the same validity; in the same
-- words it only gets category and tags.
create or replace function loci_internal.correct_memory(p_namespace_id integer, p_namespace text,
                                                        p_raw loci_data.memories, p_entries jsonb)
returns table (action text, ids uuid[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_items jsonb := loci_internal.enriched_items(p_namespace_id, p_raw, p_entries, p_raw.id);
begin
    if p_entries -> 0 ->> 'content' = p_raw.content then
        perform loci_api.update_memory(p_namespace, p_raw.id, jsonb_build_object(
            'category', coalesce(v_items -> 0 ->> 'category', p_raw.category), 'tags', v_items -> 0 -> 'tags'));
        return query select 'refined', array[p_raw.id];
        return;
    end if;
    return query select 'rewritten', array[p_raw.id, r.id] from loci_api.remember(p_namespace, v_items) r;
end $$;
comment on function loci_internal.correct_memory(integer, text, loci_data.memories, jsonb) is
    'Correct a memory by the only entry that was made of it; what was done, and its versions.';

-- Link a memory that was made of a raw one to it (expands), and to what the raw one is linked to, in the same
-- direction. Its links in force only; those of other memories made of it are left out.
create or replace function loci_internal.expand_enriched_links(p_namespace_id integer, p_namespace text, p_entry uuid,
                                                               p_raw uuid, p_raw_node uuid) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_link record;
begin
    if p_entry = p_raw then
        return;
    end if;
    for v_link in
        select l.source_id, l.target_id, l.type, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and p_raw_node in (l.source_id, l.target_id) and l.superseded_at is null
          and l.type <> 'expands'
          and p_entry not in (l.source_id, l.target_id)
        order by l.source_id, l.target_id, l.type
    loop
        perform loci_api.link_memories(p_namespace, case when v_link.source_id = p_raw_node then p_entry
                                       else v_link.source_id end,
                                   case when v_link.target_id = p_raw_node then p_entry else v_link.target_id end,
                                   v_link.type, v_link.strength);
    end loop;
    perform loci_api.link_memories(p_namespace, p_entry, p_raw, 'expands', 1);
end $$;
comment on function loci_internal.expand_enriched_links(integer, text, uuid, uuid, uuid) is
    'Links of a memory that was made of a raw one.';

-- Entries that a model made of a memory, as items of loci_api.remember: with the validity, source, subject, session,
-- layer, place, metadata and confidence of that memory, and those of its entities that they name. p_corrects: the
-- version that the only entry takes the place of; its category stays where somebody chose one, its tags stay, and its
-- importance does where it was raised.
create or replace function loci_internal.enriched_items(p_namespace_id integer, p_raw loci_data.memories,
                                                        p_entries jsonb, p_corrects uuid) returns jsonb
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    return (
        select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'content', e.value -> 'content',
            'category', case when p_raw.category = 'general' then e.value -> 'category'
                else to_jsonb(p_raw.category) end,
            'tags', to_jsonb(
                array(select u.tag from (select t.tag, t.nth from unnest(p_raw.tags) with ordinality t(tag, nth)
                                   union all select t.tag, 100 + t.nth
                                       from jsonb_array_elements_text(coalesce(nullif(e.value -> 'tags', 'null'),
                                           '[]')) with ordinality t(tag, nth)) u
                             group by u.tag order by min(u.nth), u.tag limit 100)),
            'importance', case when p_raw.importance = 0.5 then
                coalesce(nullif(e.value -> 'importance', 'null'), '0.5') else to_jsonb(p_raw.importance) end,
            'layer', p_raw.layer, 'confidence', p_raw.confidence, 'source', p_raw.source, 'about', p_raw.about,
            'session_id', p_raw.session_id,
            'corrects', p_corrects, 'valid_from', case when p_corrects is null then p_raw.valid_from end,
            'valid_to', case when p_corrects is null then p_raw.valid_to end,
            'parent_id', case when p_corrects is null
                then (select p.parent_id from loci_internal.parent_of(p_raw, clock_timestamp(), null) p) end,
            'entities', (select jsonb_agg(jsonb_build_object('name', n.name) order by n.name)
                         from loci_data.memory_mentions o
                         join loci_data.entities n on n.namespace_id = p_namespace_id and n.id = o.entity_id
                         where o.namespace_id = p_namespace_id and o.memory_id = p_raw.id
                           and strpos(lower(e.value ->> 'content'), lower(n.name)) > 0)))
            || jsonb_build_object('metadata', p_raw.metadata) order by e.nth), '[]')
        from jsonb_array_elements(p_entries) with ordinality e(value, nth));
end $$;
comment on function loci_internal.enriched_items(integer, loci_data.memories, jsonb, uuid) is
    'Entries made of a memory, as items of a write.';

-- What does a model need to expand a saved memory into well-formed ones? The memory as it is shown; whether it is one
-- version of a named lineage, which cannot become several; whether it is protected; the p_near memories nearest by
-- words, so that it does not say again what is known; and the categories most used of late. No row: it is gone,
-- forgotten, no longer valid, or has a later version. Cost: a search by words, and an index range of a thousand
-- memories. Security definer: reads past the policies; checks first. Errors: 42501, P0002.
create or replace function loci_api.memory_to_enrich(p_namespace text, p_id uuid, p_near integer default 6)
returns table (memory loci.memory_record, is_named boolean, is_protected boolean, near jsonb, categories text[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_now      timestamptz := clock_timestamp();
begin
    return query
    select loci.memory_record(m, v_now, (select p.parent_id from loci_internal.parent_of(m, v_now, null) p)),
           m.lineage <> m.lineage_id::text or m.version > 1,
           m.importance >= (v_settings ->> 'protected_importance')::double precision
               or m.observations >= (v_settings ->> 'protected_observations')::integer,
           (select coalesce(jsonb_agg(left(loci_internal.text_with_subject(o.content, o.about), 500)
                                   order by s.score desc, s.doc_id), '[]')
            from loci.search_text(p_namespace, left(m.content, 2000), p_near + 1) s
            cross join lateral (select o.content, o.about, o.lineage_id from loci_data.memories o
                                where o.namespace_id = v_ns
                                and o.id = s.id limit 1) o
            where o.lineage_id <> m.lineage_id),
           array(select c.category
                 from (select o.category from loci_data.memories o where o.namespace_id = v_ns and o.status = 'active'
                                         order by o.doc_id desc limit 1000) c
                 group by c.category order by count(*) desc, c.category limit 100)
    from loci_data.memories m
    where m.namespace_id = v_ns and m.id = p_id
      and loci_internal.memory_is_visible(m, loci_internal.filter_at(v_now, null))
      and not exists (select from loci_data.memories o where o.namespace_id = v_ns and o.lineage = m.lineage
                      and o.version > m.version);
end $$;
comment on function loci_api.memory_to_enrich(text, uuid, integer) is
    'A saved memory with what a model needs to expand it; no row: there is nothing to expand any more. Errors: 42501, '
    'P0002.';
