-- Name arm of a recall: memories that share names with the question.

-- One hop over shared names: the question names an entity; the best hit that mentions it is a seed, one that begins
-- with the name before all others; other, rare names of that seed lead to the memories that share them. Names in 2 to
-- 30 memories count, by ln(N / df) / df; half where it is one word that was only read out of texts; twice where the
-- memory reached begins with the name: what begins with a name is about it. So a hit that begins with a name of the
-- question counts by itself, by 1. A question that names nothing known, or nothing that a hit mentions, gets nothing:
-- the arm is out of its way (docs/design/recall.md). A hit still to be read for names counts with the known names of
-- its text: the cost of question_names for each. Index ranges of memory_mentions by memory and by entity. p_documents
-- are the best hits, best first; p_names, p_entity_ids and p_memory_ids: what question_names finds in the question,
-- where that is known. Errors: 42501, P0002, 22023.
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
    v_limit     integer := coalesce(p_limit, loci_internal.setting_number(v_ns, 'depth'));
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

-- Which names does a question hold: of entities, and of what one memory alone mentions so far? A name inside a longer
-- one does not count. Entities are found by name_phrases. The beginnings of name_candidates are not indexed: every
-- phrase of up to 8 tokens is looked up in their primary key. A name that was only read out of texts counts where the
-- question means it as a name: it is written with a capital or a digit, and is not the lone first word, which always
-- is; or three of four memories that have its rarest word have it as this name; or the question knows no capitals,
-- and it has several words.
-- Headings make "The" and "Books" names, and a question about books should not be led by them. The first 2,000
--  characters are read.
create or replace function loci_internal.question_names(p_namespace_id integer, p_text text)
returns table (name text, entity_id uuid, memory_id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_text      constant text := left(p_text, 2000);
    v_pieces    constant text[] := loci_internal.name_tokens(loci.fold_characters(v_text));
    v_written   constant text[] := loci_internal.name_tokens(v_text);
    v_cased     constant boolean := v_text <> lower(v_text);
    v_shortest  constant integer := loci_internal.setting_number(p_namespace_id, 'match_length');
    v_namesakes constant integer := loci_internal.setting_number(p_namespace_id, 'match_namesakes');
begin
    return query
    with phrase as (
        select f.first_token, n.tokens,
               ltrim(array_to_string(v_pieces[f.first_token:f.first_token + n.tokens - 1], ''), ' ') as name
        from generate_subscripts(v_pieces, 1) f(first_token)
        cross join lateral generate_series(1, least(8, cardinality(v_pieces) - f.first_token + 1)) n(tokens)
    ), found as materialized (
        select p.first_token, p.tokens, p.name, k.entity_id, null::uuid as memory_id, k.type, k.mentions
        from loci_internal.name_phrases(p_namespace_id, v_text) p
        cross join lateral (
            select e.entity_id, o.type, o.mentions from loci_data.entity_names e
            join loci_data.entities o on o.namespace_id = p_namespace_id and o.id = e.entity_id
            where e.namespace_id = p_namespace_id and e.canonical_name = p.name
            order by e.is_alias, e.entity_id limit v_namesakes) k
        where length(p.name) >= v_shortest
        union all
        select p.first_token, p.tokens, p.name, null, k.memory_id, 'extracted', 1
        from phrase p
        cross join lateral (
            select c.memory_id from loci_data.name_candidates c
            where c.namespace_id = p_namespace_id and c.canonical_name = p.name offset 0) k
        where length(p.name) >= v_shortest
    ), meant as (
        select f.*, array_to_string(v_written[f.first_token:f.first_token + f.tokens - 1], '') as written from found f
    )
    select f.name, f.entity_id, f.memory_id from meant f
    where not exists (select from found w where w.tokens > f.tokens and w.first_token <= f.first_token
                                            and w.first_token + w.tokens >= f.first_token + f.tokens)
      and (f.type <> 'extracted'
           or (f.written <> lower(f.written) or f.written ~ '\d' or lower(f.name) = upper(f.name))
              and (f.first_token > 1 or f.tokens > 1)
           or not v_cased and f.name ~ '\S\s+\S'
           or loci_internal.is_mostly_name(p_namespace_id, f.name, f.mentions));
end $$;
comment on function loci_internal.question_names(integer, text) is
    'Names in a question that entities or single memories are known by.';

-- What of a question is a name here: names, and the entity or the one memory of each, as parallel arrays. known: the
-- namespace has names; where it has none, nothing is asked: two probes.
create or replace function loci_internal.names_asked_for(
    p_namespace_id integer, p_query text,
    out known boolean, out names text[], out entities uuid[], out memories uuid[])
language plpgsql stable
as $$
begin
    known := exists (select from loci_data.entity_names n where n.namespace_id = p_namespace_id)
             or exists (select from loci_data.name_candidates n where n.namespace_id = p_namespace_id);
    select coalesce(array_agg(q.name), '{}'), coalesce(array_agg(q.entity_id), '{}'),
           coalesce(array_agg(q.memory_id), '{}')
    into names, entities, memories from loci_internal.question_names(p_namespace_id, p_query) q where known;
end $$;
comment on function loci_internal.names_asked_for(integer, text) is
    'Names in a question, as parallel arrays, and whether the namespace has any.';

-- Do three of four memories that have the rarest word of a name have it as that name? p_mentions: how many mention it.
-- A range of postings for each word.
create or replace function loci_internal.is_mostly_name(p_namespace_id integer, p_name text, p_mentions bigint)
returns boolean
language sql stable set search_path = ''
as $$
    select coalesce(p_mentions >= 0.75 * min(w.memories), false)
    from (select f.df as memories
          from loci_data.namespaces n
          cross join lateral loci_internal.document_terms(n.language, p_name) t
          cross join lateral loci_internal.document_frequency(p_namespace_id, t.term) f
          where n.id = p_namespace_id) w
$$;
comment on function loci_internal.is_mostly_name(integer, text, bigint) is
    'Whether most memories with a word of a name have it as that name.';
