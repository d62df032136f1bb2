-- Decisions about facts by rules, and what a memory may decide.

-- Decisions about each fact of a text, by rules, in order: a later fact sees what an earlier one made, and no longer
-- what it ended, so a text may correct itself. A sentence that states nothing is no fact, and is not kept; an
-- assistant's words end nothing that others told. p_known: what fact_candidates found among p_items. Reads settings,
-- and who said what.
create or replace function loci_internal.decide_facts(p_namespace_id integer, p_facts integer,
                                                      p_known loci_api.fact_candidate[], p_items jsonb)
                                                          returns loci_api.fact_decision[]
language plpgsql stable set search_path = ''
as $$
declare
    v_settings  jsonb := loci_internal.settings(p_namespace_id);
    v_idle      jsonb := loci_internal.items_that_state_nothing(p_items);
    v_decisions loci_api.fact_decision[] := '{}';
    v_decision  loci_api.fact_decision;
    v_over      text[] := '{}';    -- lineages of which an earlier fact made a version
    v_gone      integer[] := '{}'; -- earlier facts that are no memory of their own, or no longer
begin
    for v_ordinal in 0 .. p_facts - 1 loop
        if v_idle ? v_ordinal::text then
            v_gone := v_gone || v_ordinal;
            v_decisions := v_decisions || (v_ordinal, 'nothing', null, null, null, 1, v_idle ->> v_ordinal::text, null,
                                           '[]', '[]')::loci_api.fact_decision;
            continue;
        end if;
        v_decision := loci_internal.decide_fact(v_ordinal, array(
            select k from unnest(p_known) with ordinality u(ordinal, fact, memory_id, lineage, content, valid_from,
                                                            later, exact, same, alike, similarity, overlap,
                                                            signal, confidence, evidence, sure, source,
                                                            same_subject, in_common, nth)
            cross join lateral (select (u.ordinal, u.fact, u.memory_id, u.lineage, u.content, u.valid_from, u.later,
                                        u.exact, u.same, u.alike, u.similarity,
                                        u.overlap, u.signal, u.confidence, u.evidence,
                                        u.sure, u.source, u.same_subject, u.in_common)::loci_api.fact_candidate as k) c
            where u.ordinal = v_ordinal and (u.lineage is null or u.lineage <> all (v_over))
              and (u.fact is null or u.fact <> all (v_gone))
            order by u.nth), p_items -> v_ordinal ->> 'source', v_settings);
        v_decision := loci_internal.keep_user_facts_from_assistant(p_namespace_id, p_items, v_decision);
        if v_decision.action = 'nothing' then
            v_gone := v_gone || v_ordinal;
        elsif v_decision.action = 'update' and v_decision.signal is not null then
            if v_decision.fact is null then
                v_over := v_over || v_decision.lineage;
            else
                v_gone := v_gone || v_decision.fact;
            end if;
        end if;
        v_decisions := v_decisions || v_decision;
    end loop;
    return v_decisions;
end $$;
comment on function loci_internal.decide_facts(integer, integer, loci_api.fact_candidate[], jsonb) is
    'Decisions about the facts of a text, by rules, in order.';

-- Decide about a fact that is known: nothing is written, or, where it is known from later on, it begins earlier. Pure.
create or replace function loci_internal.decide_known_fact(p_ordinal integer, p_known loci_api.fact_candidate)
returns loci_api.fact_decision
language plpgsql immutable set search_path = ''
as $$
begin
    return (p_ordinal, case when p_known.later then 'update' else 'nothing' end, p_known.memory_id, p_known.fact,
            p_known.lineage,
            case when p_known.exact then 1 when p_known.same then 0.95 else
                coalesce(p_known.similarity, p_known.overlap) end,
            case when p_known.later then 'it is known from later on; it was true before'
                when p_known.exact then 'it is known in exactly these words'
                 when p_known.same then 'it is known in the same words'
                     else 'it is known in words that say the same' end, null, '[]', '[]')::loci_api.fact_decision;
end $$;
comment on function loci_internal.decide_known_fact(integer, loci_api.fact_candidate) is
    'Decision about a fact that is known.';

-- Choose the memories that a fact is linked to: those that it may contradict, and, where it ends nothing (p_ended),
-- those that are like it. p_open: pairs that stay open. Pure.
create or replace function loci_internal.links_of_fact(p_known loci_api.fact_candidate[],
                                                       p_ended loci_api.fact_candidate, p_open jsonb,
                                                       p_settings jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
    select coalesce(
        jsonb_agg(jsonb_build_object('target_id', l.memory_id, 'fact', l.fact, 'type', l.type,
                                     'strength', round(l.strength::numeric, 3)) order by l.nth), '[]')
    from (
        select k.memory_id, k.fact, t.type, least(t.strength, 1) as strength,
               row_number() over (order by t.type, t.strength desc, k.fact, k.memory_id) as nth
        from unnest(p_known) k
        cross join lateral (select case when k.signal is not null and (p_ended.ordinal is null or k.sure)
                                        then k.confidence end as sure,
                                   p_open @> jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                                       'target_id', k.memory_id, 'fact', k.fact, 'is_near', true))) as open) o
        cross join lateral (select case when o.sure is not null or o.open then 'contradicts'
                                        else 'related_to' end as type,
                                   coalesce(o.sure, k.similarity, k.overlap) as strength) t
        where (k.lineage, k.fact) is distinct from (p_ended.lineage, p_ended.fact)
          and (t.type = 'contradicts' or p_ended.ordinal is null and k.overlap > 0
               and case when k.similarity is null then k.overlap >= (p_settings ->> 'retain_overlap')::double precision
                        else k.similarity >= (p_settings ->> 'retain_related')::double precision end)
        order by nth limit (p_settings ->> 'retain_links')::integer) l
$$;
comment on function loci_internal.links_of_fact(loci_api.fact_candidate[], loci_api.fact_candidate, jsonb, jsonb) is
    'Links that a fact gets to what is known.';

-- What becomes of a fact, by rules, given what is known beside it? In this order:
--   nothing  it is there: exactly, in the same words, or in words that differ in nothing that matters (and are as
--            near: retain_duplicate)
--   update   a sure contradiction of one: a new version of that. Of several, the nearest, but what an assistant said
--            last (p_source: who tells the fact; what an assistant tells ends an assistant's first); the others are
--            linked (contradicts). If the fact only says "now" or "used to" and fits several, or supersession does not
--            act (propose, off), none: linked
--   link     it may outdate some (notice_unsettled): linked (contradicts), and unsettled names these and less near ones
--   link     near enough to some (retain_related, without vectors retain_overlap): a memory of its own, linked to the
--            nearest (related_to)
--   create   nothing of that: a memory of its own
-- A fact that is there from later on is true from earlier: a version before it. In doubt, a memory of its own: a wrong
-- version is worse than two memories. This is where a model decides otherwise. Pure.
create or replace function loci_internal.decide_fact(p_ordinal integer, p_known loci_api.fact_candidate[],
                                                     p_source text, p_settings jsonb) returns loci_api.fact_decision
language plpgsql immutable set search_path = ''
as $$
declare
    v_near     double precision := (p_settings ->> 'retain_duplicate')::double precision;
    v_assistant constant boolean := p_source is not distinct from 'assistant';
    v_there    loci_api.fact_candidate;
    v_ended    loci_api.fact_candidate;
    v_several  boolean;
    v_links    jsonb;
    v_open     jsonb;  -- what it may outdate
    v_decision loci_api.fact_decision;
begin
    v_decision.ordinal := p_ordinal;
    select k.* into v_there from unnest(p_known) k
    where k.exact or k.same or k.alike and coalesce(k.similarity >= v_near, true)
    order by k.later, k.exact desc, k.same desc, k.similarity desc nulls last, k.fact, k.memory_id limit 1;
    if v_there.ordinal is not null then
        return loci_internal.decide_known_fact(p_ordinal, v_there);
    end if;

    select count(distinct coalesce(k.lineage, k.fact::text)) > 1 into v_several from unnest(p_known) k
    where k.sure and k.signal in ('temporal_marker', 'change');
    select k.* into v_ended from unnest(p_known) k
    where k.sure and k.confidence >= (p_settings ->> 'supersession_threshold')::double precision
      and p_settings ->> 'supersession' = 'apply'
      and not (v_several and k.signal in ('temporal_marker', 'change'))
    order by k.confidence desc, k.later, (k.source is not distinct from 'assistant') <> v_assistant,
             k.similarity desc nulls last, k.overlap desc, k.fact, k.memory_id limit 1;

    v_open := case when v_ended.ordinal is null then loci_internal.notice_unsettled(p_known, p_settings) else '[]' end;
    v_links := loci_internal.links_of_fact(p_known, v_ended, v_open, p_settings);

    if v_ended.ordinal is not null then
        return (p_ordinal, 'update', v_ended.memory_id, v_ended.fact, v_ended.lineage, v_ended.confidence,
                format('it contradicts what is known: %s', array_to_string(v_ended.evidence, ', ')), v_ended.signal,
                v_links, '[]')::loci_api.fact_decision;
    elsif v_links <> '[]' then
        return (p_ordinal, 'link', v_links -> 0 ->> 'target_id', v_links -> 0 ->> 'fact', null,
                v_links -> 0 ->> 'strength',
                case v_links -> 0 ->> 'type' when 'contradicts'
                    then 'it may contradict what is known, but that is not sure' else 'it is about what is known' end,
                null, v_links, v_open)::loci_api.fact_decision;
    end if;
    return (p_ordinal, 'create', null, null, null,
            1 - coalesce((select max(coalesce(k.similarity, k.overlap)) from unnest(p_known) k), 0),
            'nothing like it is known', null, '[]', v_open)::loci_api.fact_decision;
end $$;
comment on function loci_internal.decide_fact(integer, loci_api.fact_candidate[], text, jsonb) is
    'Decision about a fact, by rules.';

-- Whose fact is a statement, as far as comparing needs it? subject: the entity that is stated, or with whose name it
-- begins, by its id; a stated name that is no entity in its canonical form; null: its words alone say. party: whom its
-- first person means; first: whether it has one. category: the one stated; null for general. Probes of entity_names.
create or replace function loci_internal.fact_standing(p_namespace_id integer, p_content text, p_about text,
                                                       p_category text, p_source text, p_agent uuid) returns jsonb
language sql stable
as $$
    select jsonb_build_object(
        'subject', coalesce(loci_internal.find_entity_id(p_namespace_id, s.name)::text, loci.canonical_name(s.name)),
        'name', s.name, 'party', loci_internal.memory_party(p_source, p_agent),
        'first', loci.is_first_person(p_content), 'category', nullif(p_category, 'general'))
    from (select coalesce(p_about, loci.leading_entity_of(p_namespace_id, p_content)) as name) s
$$;
comment on function loci_internal.fact_standing(integer, text, text, text, text, uuid) is
    'Subject, party and category of a statement, for comparison with others.';

-- May two statements be about the same? They share the subject, where both have one; the party, where one is in the
-- first person; and one of their categories stands in the other. Pure.
create or replace function loci_internal.may_be_about_the_same(p_one jsonb, p_other jsonb) returns boolean
language sql immutable parallel safe
return coalesce(p_one ->> 'subject' = p_other ->> 'subject', true)
   and (p_one ->> 'party' = p_other ->> 'party' or 'true' not in (p_one ->> 'first', p_other ->> 'first'))
   and loci_internal.categories_meet(p_one ->> 'category', p_other ->> 'category');
comment on function loci_internal.may_be_about_the_same(jsonb, jsonb) is
    'Whether two statements (fact_standing) may be about the same.';

-- Where is looked for what is known beside a fact? Everywhere, and among what is of the same subject or party and
-- category, as filters of a search. Pure.
create or replace function loci_internal.fact_scopes(p_standing jsonb) returns setof jsonb
language sql immutable parallel safe
as $$
    select '{"layers": [2]}'::jsonb
    union
    select jsonb_strip_nulls(jsonb_build_object(
        'layers', '[2]'::jsonb, 'about', p_standing -> 'name', 'category', p_standing -> 'category',
        'party', case when p_standing ->> 'name' is null and (p_standing ->> 'first')::boolean
                      then p_standing -> 'party' end))
$$;
comment on function loci_internal.fact_scopes(jsonb) is
    'Filters under which is searched for what is known beside a fact.';

-- The words by which a statement is compared with others: its subject stands in front, by the entity's own name, where
-- the words do not name it or begin with an alias. So "Lives in Braga" of Rosa and "Rosie lives in Kiel" are both about
-- Rosa. Probes of entity_names.
create or replace function loci_internal.text_to_compare(p_namespace_id integer, p_content text, p_about text)
returns text
language plpgsql stable
as $$
declare
    v_name   text;
    v_phrase text;
begin
    if loci_internal.text_with_subject(p_content, p_about) <> p_content then
        return p_about || ' ' || lower(left(p_content, 1)) || substr(p_content, 2);
    end if;
    v_name := loci.leading_entity_of(p_namespace_id, p_content);
    if v_name is not null and not starts_with(loci.fold_characters(p_content), loci.canonical_name(v_name)) then
        select o.phrase into v_phrase from loci.opening_phrases(p_content) o(phrase)
        where o.phrase = any (loci_internal.names_of(p_namespace_id, v_name))
          and starts_with(loci.fold_characters(p_content), o.phrase)
        order by length(o.phrase) desc limit 1;
        return coalesce(v_name || substr(p_content, length(v_phrase) + 1), p_content);
    end if;
    return p_content;
end $$;
comment on function loci_internal.text_to_compare(integer, text, text) is
    'A statement with its subject in front, by the entity''s own name.';
