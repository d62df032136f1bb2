-- Whose fact: the entity that a memory is about, and who says it.

-- Whom or what is a memory about? The first that applies: what the writer stated; the entity with whose name or alias
-- its text begins; who said it, where it is in the first person; else null. Follows entities as they are now: a name
-- that becomes one, or another's alias, leads to it from then on. At most one probe of the primary key of entity_names.
create or replace function loci.memory_about(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select coalesce(p_memory.about, loci.leading_entity(p_memory),
                    case when loci.is_first_person(p_memory.content) then p_memory.source end)
$$;
comment on function loci.memory_about(loci_data.memories) is
    'Subject of a memory, by name: as stated, else the entity that its text begins with, else the speaker in the '
    'first person; null: nobody.';

-- With the name or alias of which entity does the text of a memory begin? See leading_entity_of. Inlines.
create or replace function loci.leading_entity(p_memory loci_data.memories) returns text
language sql stable parallel safe
return loci.leading_entity_of(p_memory.namespace_id, p_memory.content);
comment on function loci.leading_entity(loci_data.memories) is
    'Name of the entity that the text of a memory begins with; null: none.';

-- With the name or alias of which entity does a text begin? The longest of up to five words. A name before a comma is
-- called, and is nobody of whom something is said ("Ann, this is great"). A single word that was only read out of texts
-- and is a stop word of English ("The") is none. One probe of the primary key of entity_names for what the first word
-- begins with, which finds nothing for most texts; one for each of five phrases for the others. A row of memories as an
-- argument would be taken apart on each call.
create or replace function loci.leading_entity_of(p_namespace_id integer, p_text text) returns text
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_head  constant text := left(p_text, 255);
    v_first constant text := split_part(rtrim(
        case when octet_length(v_head) = length(v_head)  -- else it is folded whole
             then lower(substring(v_head, '^[\u0001-\u0020"([*#>\u007F-]*([^\u0001-\u0020\u007F]*)'))
             else split_part(ltrim(loci.fold_characters(v_head), ' "([*#>-'), ' ', 1) end, '.:;!?")]*'), '''', 1);
begin
    if not exists (select from loci_data.entity_names n
                   where n.namespace_id = p_namespace_id and n.canonical_name >= v_first
                     and n.canonical_name < v_first || U&'\+10FFFF') then
        return null;
    end if;
    return (
        select e.name
        from loci_data.entity_names n
        join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id
        where n.namespace_id = p_namespace_id
          and n.canonical_name = any (array(select loci.opening_phrases(p_text)))
          and (e.type <> 'extracted' or numnode(plainto_tsquery('pg_catalog.english', n.canonical_name)) > 0)
        order by length(n.canonical_name) desc, n.is_alias, n.entity_id limit 1);
end $$;
comment on function loci.leading_entity_of(integer, text) is
    'Name of the entity of a namespace that a text begins with; null: none.';

-- The phrases of up to five words that a text begins with, in the form of canonical names, without the signs around
-- them and the ending of an English genitive. One that a comma follows is left out. Pure.
create or replace function loci.opening_phrases(p_text text) returns setof text
language sql immutable parallel safe
as $$
    select regexp_replace(rtrim(array_to_string(w.words[:n.n], ' '), '.:;!?")]*'), '''s?$', '')
    from (select string_to_array(ltrim(regexp_replace(loci.fold_characters(left(p_text, 255)), ' +', ' ', 'g'),
                                       ' "([*#>-'), ' ') as words offset 0) w  -- once, not for each phrase
    cross join generate_series(1, least(5, cardinality(w.words))) n(n)
    where w.words[n.n] not like '%,'
$$;
comment on function loci.opening_phrases(text) is
    'Phrases that a text begins with, as canonical names.';

-- Is a text said in the first person: does it say I, me, my, we, us or our, or the user, which is how agents write of
-- the one whom they serve? English and German, whole words. US and ME in capitals are no pronouns. The first 2,000
-- characters are read. Pure, inlines.
create or replace function loci.is_first_person(p_text text) returns boolean
language sql immutable parallel safe
return left(p_text, 2000) ~ ('\m(I|[Mm]e|[Mm]y|[Mm]yself|[Ww]e|us|[Oo]urs?|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein(e[mnrs]?)?|'
                             '[Ww]ir|uns|[Uu]nser(e[mnrs]?)?)\M(?![.)-])|\mi(''|’| |$)|'
                             '^(The |the |Der |Die )?([Uu]ser|Benutzer|Nutzerin?)\M');
comment on function loci.is_first_person(text) is
    'Whether a text is said in the first person, in English or German.';

-- All canonical names of an entity, found by one of them or its id; the name itself if it is unknown. Probes of
-- entity_names.
create or replace function loci_internal.names_of(p_namespace_id integer, p_ref text) returns text[]
language sql stable parallel safe
as $$
    select array(select n.canonical_name::text from loci_data.entity_names n
                 where n.namespace_id = p_namespace_id
                   and n.entity_id = loci_internal.find_entity_id(p_namespace_id, p_ref)
                 union select loci.canonical_name(p_ref))
$$;
comment on function loci_internal.names_of(integer, text) is
    'Canonical names of an entity, named by any of them.';

-- Whom do "I", "my" and "we" mean in what somebody said? The speaker. One that is nobody in particular (user, or none)
-- stands for the agent that wrote it: each agent hears one such party, unless it says for which user it speaks. Pure,
-- inlines.
create or replace function loci_internal.memory_party(p_source text, p_agent uuid) returns text
language sql immutable parallel safe
return case when loci_internal.is_nobody(p_source) then 'agent ' || coalesce(p_agent::text, '')
            else 'name ' || loci.canonical_name(p_source) end;
comment on function loci_internal.memory_party(text, uuid) is
    'Party that the first person of a memory means: its speaker, or the agent that wrote it.';

-- Is a speaker nobody in particular? Pure, inlines.
create or replace function loci_internal.is_nobody(p_source text) returns boolean
language sql immutable parallel safe
return p_source is null or lower(p_source) = 'user';
comment on function loci_internal.is_nobody(text) is
    'Whether a speaker is nobody in particular.';

-- The user for whom the caller speaks or asks: the one that the call names, else the one that its key is bound to;
-- null: nobody in particular. A key that is bound to a user speaks for no other. Reads loci.user, which
-- loci_api.begin_request sets. Errors: 42501.
create or replace function loci_internal.speaking_user(p_user text) returns text
language plpgsql stable
as $$
declare
    v_bound constant text := nullif(current_setting('loci.user', true), '');
begin
    if v_bound is not null and p_user is not null and loci.canonical_name(p_user) <> loci.canonical_name(v_bound) then
        raise insufficient_privilege using column = 'user',
            message = format('this key is bound to user %s and cannot speak for %s', v_bound, p_user),
            hint = 'Leave `user` out, or use a key without a user.';
    end if;
    return coalesce(v_bound, p_user);
end $$;
comment on function loci_internal.speaking_user(text) is
    'The user for whom the caller speaks: as named, else as its key is bound. Errors: 42501.';

-- Speaker of a memory: as stated, but for nobody in particular the user for whom the caller speaks, if there is one.
-- Errors: 42501.
create or replace function loci_internal.speaker_of(p_source text, p_user text) returns text
language sql stable
as $$
    select case when loci_internal.is_nobody(p_source)
                     and (p_user is not null or coalesce(current_setting('loci.user', true), '') <> '')
                then loci_internal.speaking_user(p_user) else p_source end
$$;
comment on function loci_internal.speaker_of(text, text) is
    'Speaker of a memory, for a source and the user of a call.';

-- Items of a write with who said each (speaker_of). Errors: 42501.
create or replace function loci_internal.name_speakers(p_items jsonb) returns jsonb
language sql stable
as $$
    select jsonb_agg(case when s.speaker is null then i.item - 'user'
                          else i.item - 'user' || jsonb_build_object('source', s.speaker) end order by i.nth)
    from jsonb_array_elements(p_items) with ordinality i(item, nth)
    cross join lateral (select loci_internal.speaker_of(i.item ->> 'source', i.item ->> 'user') as speaker) s
$$;
comment on function loci_internal.name_speakers(jsonb) is
    'Items of a write, each with who said it. Errors: 42501.';

-- The party that asks: see memory_party. Errors: 42501.
create or replace function loci_internal.asking_party(p_user text) returns text
language sql stable
as $$
    select loci_internal.memory_party(loci_internal.speaking_user(p_user), loci.current_agent())
$$;
comment on function loci_internal.asking_party(text) is
    'Party that the first person of a question means. Errors: 42501.';

-- Key that memories of the same words share when they are one: their subject, where the words do not name it; and the
-- party of a first person. Empty where the words say it all. Pure.
create or replace function loci_internal.wording_scope(p_content text, p_about text, p_source text, p_agent uuid)
returns text
language sql immutable parallel safe
return ltrim(case when loci_internal.text_with_subject(p_content, p_about) <> p_content
                  then 'about ' || loci.canonical_name(p_about) else '' end
             || case when loci.is_first_person(p_content)
                     then ' by ' || loci_internal.memory_party(p_source, p_agent) else '' end);
comment on function loci_internal.wording_scope(text, text, text, uuid) is
    'Key that memories of the same words share when they are one memory; empty: nothing.';

-- May two categories speak of the same: does one stand in the other? What has none (general) stands above all. Pure,
-- inlines.
create or replace function loci_internal.categories_meet(p_one text, p_other text) returns boolean
language sql immutable parallel safe
return coalesce(p_one, 'general') = 'general' or coalesce(p_other, 'general') = 'general'
       or loci_internal.path_is_within(p_one, p_other) or loci_internal.path_is_within(p_other, p_one);
comment on function loci_internal.categories_meet(text, text) is
    'Whether one of two categories stands in the other.';
