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

-- Is what stands at a place of a text spelt as the name that it could be? In scripts without capitals, always. Else
-- with a capital; several words need no more. A single word
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
