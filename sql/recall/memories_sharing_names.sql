-- One hop over shared names: the question names an entity; the best hit that mentions it is a seed, one that begins
-- with the name before all others; other, rare names of that seed lead to the memories that share them. Names in 2 to
-- 30 memories count, by ln(N / df) / df; half where it is one word that was only read out of texts; twice where the
-- memory reached begins with the name: what begins with a name is about it. So a hit that begins with a name of the
-- question counts by itself, by 1. A question that names nothing known, or nothing that a hit mentions, gets nothing:
-- the arm is out of its way (docs/design/recall.md). A hit whose names are still to be found counts with the known
-- names of its text, as it will when they are: the cost of question_names for each that waits. Index ranges of
-- memory_mentions by memory and by entity. p_documents are the best hits, best first; p_names, p_entity_ids and
-- p_memory_ids: what question_names finds in the question, where that is known. Errors: 42501, P0002, 22023.
create or replace function loci_api.memories_sharing_names(
    p_namespace text, p_query text, p_documents bigint[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_names text[] default null,
    p_entity_ids uuid[] default null, p_memory_ids uuid[] default null)
returns table (id uuid, doc_id bigint, score double precision, path text[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns        integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter    loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit     integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
    v_names     text[] := p_names;
    v_entities  uuid[] := p_entity_ids;
    v_memories  uuid[] := p_memory_ids;
    v_documents double precision;
begin
    if p_names is null then
        select array_agg(q.name), array_agg(q.entity_id), array_agg(q.memory_id) into v_names, v_entities, v_memories
        from loci_internal.question_names(v_ns, p_query) q;
    end if;
    if coalesce(cardinality(v_names), 0) = 0 then
        return;
    end if;
    select greatest(sum(c.documents), 1) into v_documents from loci_data.corpus_counts c where c.namespace_id = v_ns;
    return query
    with hit as materialized (
        select o.id, h.place, o.opening, w.words
        from unnest(p_documents) with ordinality h(doc_id, place)
        cross join lateral (select s.id, loci.fold_characters(left(
                                       loci_internal.text_with_subject(s.content, s.about), 255)) as opening
                            from loci_data.memories s where s.namespace_id = v_ns and s.doc_id = h.doc_id limit 1) o
        left join lateral (  -- its names are still to be found: whether it has one of the question's, its words tell
            select array_to_string(loci_internal.name_tokens(loci.fold_characters(left(s.content, 2000))),
                                   '') || ' ' as words
            from loci_data.name_queue n join loci_data.memories s on s.namespace_id = v_ns and s.id = n.memory_id
            where n.namespace_id = v_ns and n.memory_id = o.id limit 1) w on true
    ), unread as materialized (  -- their names: of entities, or of what one other memory mentions so far
        select h.id, q.name, q.entity_id, q.memory_id
        from hit h
        cross join lateral (select s.content from loci_data.memories s
                            where s.namespace_id = v_ns and s.id = h.id limit 1) s
        cross join lateral loci_internal.question_names(v_ns, s.content) q where h.words is not null
    ), named as materialized (
        select q.name, h.id, h.place, starts_with(h.opening, q.name) as about
        from unnest(v_names, v_entities, v_memories) q(name, entity_id, memory_id)
        join hit h on h.id = q.memory_id or exists (
             select from loci_data.memory_mentions m where m.namespace_id = v_ns and m.memory_id = h.id
                 and m.entity_id = q.entity_id)
             or position(' ' || q.name || ' ' in regexp_replace(' ' || h.words, '[^[:alnum:]]+', ' ', 'g')) > 0
    ), seed as (
        select distinct on (n.name) n.name, n.id, n.place from named n order by n.name, n.about desc, n.place, n.id
    ), mention as (  -- of a name by a seed: an entity, or (entity_id null) what one other memory mentions
        select m.memory_id, m.entity_id, null::uuid as other_id, null::text as name
        from seed s join loci_data.memory_mentions m on m.namespace_id = v_ns and m.memory_id = s.id
        union
        select u.id, u.entity_id, case when u.entity_id is null then u.memory_id end,
               case when u.entity_id is null then u.name end
        from unread u where u.entity_id is not null or u.memory_id <> u.id
    ), bridge as (
        select k.id, k.other_id, k.name, k.canonical_name,
               sum(1 / sqrt(s.place)) * ln(v_documents / k.mentions) / k.mentions
               * case when k.read and k.name !~ '\s' then 0.5 else 1 end as weight, min(s.name) as named
        from seed s
        join mention m on m.memory_id = s.id
        cross join lateral (
            select e.id, null::uuid as other_id, e.name, e.canonical_name, e.mentions + w.waiting as mentions,
                   e.type = 'extracted' as read
            from loci_data.entities e
            cross join lateral (select count(distinct u.id) as waiting from unread u
                                where u.entity_id = e.id and not exists (
                                    select from loci_data.memory_mentions x where x.namespace_id = v_ns
                                        and x.memory_id = u.id and x.entity_id = e.id)) w
            where e.namespace_id = v_ns and e.id = m.entity_id and e.merged_into is null
            union all
            select null, m.other_id, m.name, m.name, (select 1 + count(distinct u.id) from unread u
                                                      where u.name = m.name and u.entity_id is null), true
            where m.other_id is not null) k
        where k.mentions between 2 and 30 and (k.id is null or k.id <> all (array_remove(v_entities, null)))
          and (k.id is not null or k.canonical_name <> all (v_names))
        group by k.id, k.other_id, k.name, k.canonical_name, k.mentions, k.read
    ), found as (
        select x.memory_id, b.weight, array[b.named, b.name] as path, b.canonical_name as name
        from bridge b
        cross join lateral (
            select m.memory_id from loci_data.memory_mentions m where m.namespace_id = v_ns and m.entity_id = b.id
            union
            select u.id from unread u where u.entity_id = b.id or b.id is null and u.name = b.canonical_name
            union
            select b.other_id where b.other_id is not null) x
        union all
        select distinct n.id, 1, array[n.name, null], n.name from named n where n.about
    ), reached as (
        select f.memory_id as id, o.doc_id, f.path, f.weight * case when f.path[2] is not null
                   and starts_with(loci.fold_characters(left(o.content, 2 * length(f.name))), f.name) then 2
                       else 1 end as weight
        from found f
        cross join lateral (  -- one by one: joined, all memories of the namespace would be read
            select o.doc_id, o.content from loci_data.memories o
            where o.namespace_id = v_ns and o.id = f.memory_id and loci_internal.memory_is_visible(o, v_filter)
            limit 1) o
    )
    select r.id, r.doc_id, sum(r.weight)::double precision,
           array_remove(array(select unnest((array_agg(r.path order by r.weight desc, r.path))[1:1])), null)
    from reached r group by r.id, r.doc_id
    order by 3 desc, 2 limit v_limit;
end $$;
comment on function loci_api.memories_sharing_names(text, text, bigint[], integer, jsonb, timestamptz, timestamptz,
                                                 text[], uuid[], uuid[]) is
    'Memories that share a rare name with the best hit for each entity that the question names. Errors: 42501, P0002, '
    '22023.';
