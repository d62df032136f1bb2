-- Candidates that a fact is compared with.

-- What is known beside each of many facts? Memories of layer 2 that are valid when the fact is: the best p_limit by
-- words, the nearest p_limit by meaning (from half of retain_related on), both also among those of the same subject or
-- party and category (fact_scope), there however far, so that what many say of themselves hides none; twice as many
-- that share the words that name something (naming_words), where people tell a change in other words; for one that
-- tells where somebody lives or moved to as many that tell that, of the same source if the speaker tells it ("I moved
-- to Bergen" has no word of "I live in Oslo"), and any of exactly the same content; and the p_limit earlier facts of
-- the same text that share most words. Each that may be about the same (may_be_about_the_same) is compared with the
-- fact (compare_facts), the later in valid time against the other; the others are only near. in_common: see there;
-- null too of what is true from later on. Items are those of loci_api.remember; embedding: a vector of the active
-- model (embedding_model says of which it is, null: not known), else words alone. One statement for all facts: two
-- searches by words and one by meaning each, then 0.6 ms a candidate. Security definer: reads past the policies;
-- checks first. Errors: 42501, P0002, 22023.
create or replace function loci.fact_candidates(p_namespace text, p_items jsonb, p_limit integer default 8)
returns setof loci_api.fact_candidate
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_shared integer := (loci_internal.settings(v_ns) ->> 'shared_tokens')::integer;
    v_near   double precision := (loci_internal.settings(v_ns) ->> 'retain_related')::double precision / 2;
    v_now    timestamptz := clock_timestamp();
    v_agent  uuid := loci.current_agent();
    v_model  loci_data.embedding_models;
begin
    select * into v_model from loci_data.embedding_models where active;
    return query
    with item as materialized (
        select (i.place - 1)::integer as ordinal, i.content, loci_internal.content_hash(i.content) as hash, i.source,
               coalesce(i.valid_from, v_now) as at, t.compared, t.read, loci_internal.naming_words(t.read) as words,
               loci_internal.fact_standing(v_ns, i.content, i.about, i.category, i.source, v_agent) as standing,
               case when cardinality(i.embedding) = v_model.dimensions and
                   coalesce(i.embedding_model, v_model.id) = v_model.id then i.embedding end as embedding
        from rows
        from (jsonb_to_recordset(loci_internal.name_speakers(p_items))
              as (content text, source text, about text, category text, valid_from timestamptz, embedding real[],
                  embedding_model integer))
             with ordinality i(content, source, about, category, valid_from, embedding, embedding_model, place)
        cross join lateral (
            select c.compared, loci_internal.read_fact(c.compared) as read
            from (select loci_internal.text_to_compare(v_ns, i.content, i.about) as compared offset 0) c offset 0) t
    ), moment as materialized (
        select i.ordinal, i.at from item i union select i.ordinal, v_now from item i
    ), found as materialized (
        select i.ordinal, s.id from item i join moment t on t.ordinal = i.ordinal
        cross join lateral loci_internal.fact_scopes(i.standing) c(scope)
        cross join lateral loci.search_text(p_namespace, left(i.compared, 2000), p_limit, c.scope, t.at) s
        union
        select i.ordinal, s.id from item i join moment t on t.ordinal = i.ordinal
        cross join lateral loci_internal.fact_scopes(i.standing) c(scope)
        cross join lateral loci.similar_memories(p_namespace, i.embedding, p_limit, c.scope, t.at) s
        where i.embedding is not null and (s.score >= v_near or c.scope <> '{"layers": [2]}')
        union
        select i.ordinal, s.id from item i join moment t on t.ordinal = i.ordinal
        cross join lateral loci.search_text(p_namespace, array_to_string(i.words, ' '), 2 * p_limit, '{"layers": [2]}',
                                            t.at) s
        where i.words <> '{}'
        union
        select i.ordinal, s.id from item i join moment t on t.ordinal = i.ordinal
        cross join lateral loci.search_text(
            p_namespace,
            'live reside based moved relocated wohne wohnt lebe lebt gezogen '
                || coalesce(array_to_string(((i.read).said).subject, ' '), ''),
            p_limit, jsonb_strip_nulls(jsonb_build_object(
                'layers', '[2]'::jsonb, 'source', case when (i.read).speaker in ('i', 'we') then i.source end)), t.at) s
        where loci_internal.tells_place((i.read).said, (i.read).names)
        union
        select i.ordinal, s.id from item i
        cross join lateral (select m.id from loci_data.memories m where m.namespace_id = v_ns
                            and m.content_hash = i.hash
                            and m.valid_to is null and m.status = 'active' and m.layer <> 3
                          order by m.fold_scope limit 1) s
    ), known as materialized (  -- each memory is read once, whatever number of facts found it
        select m.*, r.read, loci_internal.naming_words(r.read) as words,
               loci_internal.fact_standing(v_ns, m.content, m.about, m.category, m.source, m.created_by) as standing,
               v.embedding
        from (select distinct f.id from found f) f
        cross join lateral (select o.id, o.lineage, o.content, o.content_hash, o.source, o.valid_from, o.about,
                                   o.category, o.created_by
                            from loci_data.memories o
                            where o.namespace_id = v_ns and o.id = f.id limit 1) m
        cross join lateral (select loci_internal.read_fact(loci_internal.text_to_compare(v_ns, m.content, m.about))
                                       as read offset 0) r
        left join lateral (select o.embedding from loci_data.memory_vectors o
                           where o.namespace_id = v_ns and o.memory_id = m.id and o.model_id = v_model.id limit 1) v
                               on true
    ), told as materialized (
        select i.ordinal, w.word from item i
        cross join lateral (select distinct u.word
                            from unnest((i.read).gist || case  -- two words that all who tell of a home have in common
                                        when loci_internal.tells_place((i.read).said, (i.read).names)
                                        then '{" where"," lives"}'::text[] end) u(word)) w
    ), pair as (
        select i.ordinal, null::integer as fact, k.id, k.lineage, k.content, k.valid_from,
               k.content_hash = i.hash as exact,
               k.source, i.standing as told_by, k.standing as known_by,
               1 - (k.embedding <=> i.embedding::halfvec) as similarity,
               i.read, k.read as known, k.valid_from > i.at as later, i.words, k.words as known_words
        from found f join item i on i.ordinal = f.ordinal join known k on k.id = f.id
        union all
        select i.ordinal, e.ordinal, null, null, e.content, e.at, e.hash = i.hash, e.source, i.standing,
               e.standing, 1 - (e.embedding::halfvec <=> i.embedding::halfvec), i.read, e.read, e.at > i.at, i.words,
               e.words
        from (select w.ordinal, w.earlier,
              row_number() over (partition by w.ordinal order by w.words desc, w.earlier desc) as nth
              from (select n.ordinal, o.ordinal as earlier, count(*) as words from told n join told o
                    on o.word = n.word and o.ordinal < n.ordinal
                    group by n.ordinal, o.ordinal having count(*) >= 2) w) s
        join item i on i.ordinal = s.ordinal join item e on e.ordinal = s.earlier where s.nth <= p_limit
    )
    select p.ordinal, p.fact, p.id, p.lineage, p.content, p.valid_from, p.later, p.exact and b.same_place,
           c.same and b.same_place, c.alike and b.same_place, p.similarity, c.overlap,
           case when b.comparable then c.signal end, case when b.comparable then c.confidence end,
           case when b.comparable then c.evidence end, c.sure and b.comparable, p.source, b.comparable,
           case when b.comparable and not p.later then loci_internal.in_common(p.told_by, p.known_by, p.words,
                                                                               p.known_words) end
    from pair p
    cross join lateral loci_internal.compare_facts(
        case when p.later then p.read else p.known end, case when p.later then p.known else p.read end,
        (p.told_by ->> 'party') = (p.known_by ->> 'party'), v_shared) c
    cross join lateral (select loci_internal.may_be_about_the_same(p.told_by, p.known_by) as comparable) a
    cross join lateral (select a.comparable, a.comparable and coalesce(p.told_by ->> 'category',
                                                                       p.known_by ->> 'category', '')
                                                              = coalesce(p.known_by ->> 'category', '') as same_place) b
    order by p.ordinal, p.exact desc, p.similarity desc nulls last, c.overlap desc, p.fact, p.id;
end $$;
comment on function loci.fact_candidates(text, jsonb, integer) is
    'For each of many facts (items of loci_api.remember), the memories and earlier facts beside it: nearness, and '
    'whether one contradicts the other. Errors: 42501, P0002, 22023.';

-- An assistant's words (an item whose source is assistant) end nothing that others told: where a decision would make a
-- version of that, the fact becomes a memory of its own, linked (contradicts). Any other decision stays as it is. One
-- probe of the primary key, for such a decision alone.
create or replace function loci_internal.keep_user_facts_from_assistant(p_namespace_id integer, p_items jsonb,
                                                                        p_decision loci_api.fact_decision)
returns loci_api.fact_decision
language plpgsql stable set search_path = ''
as $$
declare
    v_said_by text := p_items -> p_decision.fact ->> 'source';  -- of what would end
begin
    if p_decision.action <> 'update' or p_decision.signal is null
        or p_items -> p_decision.ordinal ->> 'source' is distinct from 'assistant' then
        return p_decision;
    end if;
    if p_decision.target_id is not null then
        select m.source into v_said_by from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.id = p_decision.target_id;
    end if;
    if v_said_by = 'assistant' then
        return p_decision;
    end if;
    return (p_decision.ordinal, 'link', p_decision.target_id, p_decision.fact, null, p_decision.confidence,
            'an assistant said so, which ends nothing that others told', null,
            jsonb_build_array(jsonb_build_object('target_id', p_decision.target_id, 'fact', p_decision.fact,
                                                 'type', 'contradicts', 'strength', p_decision.confidence))
            || coalesce(p_decision.links, '[]'), '[]')::loci_api.fact_decision;
end $$;
comment on function loci_internal.keep_user_facts_from_assistant(integer, jsonb, loci_api.fact_decision) is
    'A decision about a fact; what an assistant said ends nothing that others told.';

-- Which words of a fact name what it is about, or what is said of it? Its stems in order, without verbs that the
-- lexicon knows, words that structure a sentence, and numbers. Pure; about 0.1 ms.
create or replace function loci_internal.naming_words(p_read loci_api.fact_reading) returns text[]
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    return array(
        select w.stem from unnest(p_read.gist) with ordinality w(stem, place)
        where length(w.stem) > 1 and w.stem !~ '^[0-9]'
          and coalesce(loci_internal.statement_lexicon() ->> w.stem, 'role') = 'role'
          and coalesce(loci_internal.common_words() ->> w.stem, '') not in ('stop', 'neg')
          and numnode(plainto_tsquery('pg_catalog.english', w.stem)) > 0
        order by w.place);
end $$;
comment on function loci_internal.naming_words(loci_api.fact_reading) is
    'Stems of a fact that name something, in order.';

-- What do two facts that may be about the same have in common? subject: both are of the same entity, or in the first
-- person, or one begins with a word that the other has; words: they share one elsewhere; null: nothing. The standings
-- are those of fact_standing, the words those of naming_words. Pure, inlines.
create or replace function loci_internal.in_common(p_one jsonb, p_other jsonb, p_words text[], p_other_words text[])
returns text
language sql immutable parallel safe
return case when p_one ->> 'subject' = p_other ->> 'subject'
                 or 'true' = all (array[p_one ->> 'first', p_other ->> 'first'])
                 or p_words[1] = any (p_other_words) or p_other_words[1] = any (p_words) then 'subject'
            when p_words && p_other_words then 'words' end;
comment on function loci_internal.in_common(jsonb, jsonb, text[], text[]) is
    'Common ground of two facts that may be about the same: subject, words, or nothing.';
