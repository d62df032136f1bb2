-- Entities that a text names, now and at a moment.

-- Which known entities does a text name? Phrases that may be names (name_phrases) are looked up in the
-- primary key of entity_names, each once, so that cost follows the text. Names shorter than setting match_length are
-- not looked for; of those who share an alias, match_namesakes are found. One row an entity: its first place, and the
-- longest name there. p_spelt: the first place where a capital tells that it is one, inside a sentence; else one at the
-- beginning of a sentence, where every word has a capital; else the first.
create or replace function loci_internal.find_entities_in_text(p_namespace_id integer, p_text text,
                                                               p_spelt boolean default false)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_shortest  constant integer := loci_internal.setting_number(p_namespace_id, 'match_length');
    v_namesakes constant integer := loci_internal.setting_number(p_namespace_id, 'match_namesakes');
    -- ASCII: the bytes are the characters, and are cut out wherever they stand at once
    v_bytes     constant bytea := case when octet_length(p_text) = length(p_text) then convert_to(p_text, 'UTF8') end;
    v_letters   constant text[] := case when p_spelt and v_bytes is null then string_to_array(p_text, null) end;
begin
    return query
    select distinct on (k.entity_id) k.entity_id,
           coalesce(convert_from(substring(v_bytes from p.place for p.width), 'UTF8'),
                    substr(p_text, p.place, p.width)),
           k.is_alias, p.place
    from (select distinct on (n.name) n.name, n.place, n.width, c.small
          from loci_internal.name_phrases(p_namespace_id, p_text) n
          cross join lateral (
              select case when not p_spelt then 0
                  when case when v_bytes is not null then get_byte(v_bytes, n.place - 1) between 97 and 122  -- a to z
                            else v_letters[n.place] = lower(v_letters[n.place])
                                 and v_letters[n.place] <> upper(v_letters[n.place]) end then 2
                  when loci_internal.ends_sentence(substr(p_text, greatest(n.place - 4, 1),
                                                          least(n.place - 1, 4)), n.place <= 5) then 1
                  else 0 end as small) c
          where length(n.name) >= v_shortest order by n.name, c.small, n.place) p
    cross join lateral (
        select e.entity_id, e.is_alias from loci_data.entity_names e
        where e.namespace_id = p_namespace_id and e.canonical_name = p.name
        order by e.is_alias, e.entity_id limit v_namesakes
    ) k
    order by k.entity_id, p.small, p.place, p.width desc;
end $$;
comment on function loci_internal.find_entities_in_text(integer, text, boolean) is
    'Entities whose name or alias stands in a text as whole words; position is the character where it starts.';

-- Does a sentence begin behind these few characters? p_whole: they are all that stands before. Behind the end of
-- another one, a colon, a line break or a bullet; a comma ends none. Inlines.
create or replace function loci_internal.ends_sentence(p_before text, p_whole boolean) returns boolean
language sql immutable parallel safe
as $$
    select p_before ~ '[.!?:;\n\u3002\uFF01\uFF1F][[:space:]"''\u201C\u201D\u201E()*#>-]*$'
           or p_whole and p_before ~ '^[[:space:]"''\u201C\u201D\u201E()*#>-]*$'
$$;
comment on function loci_internal.ends_sentence(text, boolean) is
    'Whether a sentence begins behind some characters.';

-- Which entities does a text name, by the names that were known at a moment? As find_entities_in_text. Unchanged
-- entities are found by the index of today's names; no index has the earlier names of the others, so each is looked for
-- in the text as a whole word. Cost: that of find_entities_in_text, and about 3 µs for each change of an entity since
-- (index entity_beliefs_until).
create or replace function loci_internal.find_entities_in_text_at(p_namespace_id integer, p_text text,
                                                                  p_known_at timestamptz)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
    v_folded    constant text := loci.fold_characters(p_text);  -- one for one
    v_single    constant text := loci.canonical_name(p_text);
begin
    return query
    with known as materialized (
        select b.entity_id, k.name as canonical_name, k.name <> b.canonical_name as is_alias,
               row_number() over (partition by k.name order by k.name <> b.canonical_name, b.entity_id) as nth
        from loci_data.entity_beliefs b
        cross join lateral (select b.canonical_name as name
                            union select loci.canonical_name(a.alias) from unnest(b.aliases) a(alias)) k
        where b.namespace_id = p_namespace_id and b.believed_to > p_known_at and b.believed_at <= p_known_at
          and b.merged_into is null and length(k.name) >= v_shortest and strpos(v_single, k.name) > 0
    ), pattern as (
        select k.entity_id, k.is_alias,
               case when k.canonical_name ~ '^[[:alnum:]]' then '(?<![[:alnum:]])' else '' end
               || replace(regexp_replace(k.canonical_name, '([^[:alnum:][:space:]])', '\\\1', 'g'), ' ', ' +')
               || case when k.canonical_name ~ '[[:alnum:]]$' then '(?![[:alnum:]])' else '' end as said
        from known k where k.nth <= v_namesakes
    ), place as (
        select p.entity_id, p.is_alias, regexp_instr(v_folded, p.said) as place,
               length(regexp_substr(v_folded, p.said)) as width
        from pattern p
    ), changed as (
        select distinct on (p.entity_id) p.entity_id, substr(p_text, p.place, p.width), p.is_alias, p.place
        from place p where p.place > 0
        order by p.entity_id, p.place, p.width desc
    )
    select c.* from changed c
    union all
    select f.id, f.matched, f.is_alias, f.position
    from loci_internal.find_entities_in_text(p_namespace_id, p_text) f
    cross join lateral (select e.created_at from loci_data.entities e
                        where e.namespace_id = p_namespace_id and e.id = f.id limit 1) e
    where e.created_at <= p_known_at
      and not exists (select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                      and b.entity_id = f.id and b.believed_to > p_known_at);
end $$;
comment on function loci_internal.find_entities_in_text_at(integer, text, timestamptz) is
    'Entities whose name or alias, as known at a moment, stands in a text as whole words.';

-- Which known entities, of any type and any number of words, do the texts of memories name, by name or alias? Whole
-- words. One that somebody stated is found also in lower case, where no convention of spelling tells a name. One that
-- was only extracted is found where it is spelt as a name (is_spelt_as_name): "will" is no Will. JSON array of
-- {memory_id, entity_id, mention_text}, null for none. Cost: that of find_entities_in_text, a text at a time; one index
-- look-up in a namespace without entities. No errors.
create or replace function loci_internal.known_mentions(p_namespace_id integer, p_memories uuid[]) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if not exists (select from loci_data.entity_names e where e.namespace_id = p_namespace_id) then
        return null;
    end if;
    return (
    select jsonb_agg(jsonb_build_object('memory_id', m.id, 'entity_id', e.id, 'mention_text', f.matched))
    from unnest(p_memories) c(memory_id)
    cross join lateral (select o.id, o.content from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = c.memory_id limit 1) m
    cross join lateral loci_internal.find_entities_in_text(p_namespace_id, left(m.content, 100000), true) f
    cross join lateral (select n.id from loci_data.entities n
                        where n.namespace_id = p_namespace_id and n.id = f.id and n.merged_into is null
                          and (n.type <> 'extracted'
                               or loci_internal.is_spelt_as_name(p_namespace_id, m.content, f.position, f.matched,
                                                                   n.name))
                        limit 1) e);
end $$;
comment on function loci_internal.known_mentions(integer, uuid[]) is
    'Mentions of known entities in the texts of memories, as insert_mentions takes them.';

-- Is what stands at a place of a text spelt as the name that it could be? In scripts without capitals, always.
-- Otherwise a single word needs a capital, and several words need nothing more. A single word
--   stands alone: beside another word with a capital it is part of a longer name ("John" in "King John"), unless that
--            opens the sentence and is no name itself ("Presumably Anna")
--   is in capitals throughout only if the name is
--   does not stand behind a German article, where every noun has a capital
--   at the beginning of a sentence, where every word has one, is neither a little nor a common word, and what follows
--            is what follows a name: a verb of the third person, a genitive, a comma ("Hope called"; not "Hope this
--            helps", "May I"). Lists, headings and lines of code are no sentences.
-- Pure but for one look-up of a name; about 3 µs.
create or replace function loci_internal.is_spelt_as_name(p_namespace_id integer, p_text text, p_position integer,
                                                          p_matched text, p_name text) returns boolean
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_first   constant text := left(p_matched, 1);
    v_before  constant text := substr(p_text, greatest(p_position - 40, 1), least(p_position - 1, 40));
    v_after   constant text := substr(p_text, p_position + length(p_matched), 20);
    v_opening constant text := substring(v_before, '([[:upper:]][[:alpha:]]*)[[:space:]]+$');
    v_word    constant text := lower(p_matched);
    v_earlier text;  -- before the word that opens
begin
    if lower(v_first) = upper(v_first) then
        return true;
    elsif v_first = lower(v_first) then
        return false;
    elsif p_matched ~ '[[:space:]]' then
        return true;
    elsif length(p_matched) > 1 and p_matched = upper(p_matched) and p_matched <> p_name
        or v_after ~ '^(-?[[:space:]]+[[:upper:]]|[-_*=<{/(])'
        or v_before !~ '(^|[[:space:]])["''(\u201C\u201D\u201E]*$'
        or v_before ~* '(^|[^[:alpha:]])(der|die|das|den|dem|des|ein|eine|einen|einem|einer|eines|kein|keine)\s+$' then
        return false;
    elsif v_opening is not null then
        v_earlier := left(v_before, -length(substring(v_before, '[[:upper:]][[:alpha:]]*[[:space:]]+$')));
        return loci_internal.ends_sentence(right(v_earlier, 4), length(v_opening) + 6 > p_position)
            and not exists (select from loci_data.entity_names n where n.namespace_id = p_namespace_id
                            and n.canonical_name = loci.canonical_name(v_opening));
    elsif not loci_internal.ends_sentence(right(v_before, 4), p_position <= 5) then
        return true;
    end if;
    return not (ts_lexize('pg_catalog.english_stem', v_word) = '{}'
                or ts_lexize('pg_catalog.german_stem', v_word) = '{}'
                or loci_internal.statement_lexicon() ? v_word or loci_internal.common_words() ? v_word
                or loci_internal.common_words() ? loci_internal.word_stem(v_word))
        and v_before !~ '[#*>:-][[:space:]]*$' and v_before !~ '\d\.[[:space:]]*$'
        and v_after ~ ('^([,!?''\u2019]|[[:space:]]+(and|und|will|would|can|could|may|might|must|should|did|said|told|'
                       'went|came|got|made|ist|war|hat|hatte|wird|kann|muss|soll|kam|ging|sagt|wohnt|[[:lower:]]+ed|'
                       '(?!(this|us|plus|yes|less|ours|hers|yours|theirs|its|always|perhaps)\M)[[:lower:]]+s)'
                       '([^[:alpha:]]|$))');
end $$;
comment on function loci_internal.is_spelt_as_name(integer, text, integer, text, text) is
    'Whether a place of a text is spelt as the name that it could be.';
