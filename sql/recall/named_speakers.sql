-- Who speaks in a namespace? The different sources of its memories, at most 100: a look-up in memories_source each. A
-- namespace with more has documents and no speakers, whose names are then only known as words.
create or replace function loci_internal.list_speakers(p_namespace_id integer) returns table (source text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with recursive speaker as (
        (select m.source from loci_data.memories m where m.namespace_id = p_namespace_id and m.source is not null
         order by m.source limit 1)
        union all
        select (select m.source from loci_data.memories m
                where m.namespace_id = p_namespace_id and m.source is not null and m.source > s.source
                order by m.source limit 1)
        from speaker s where s.source is not null
    )
    select s.source from (select r.source from speaker r limit 100) s where s.source is not null
$$;
comment on function loci_internal.list_speakers(integer) is 'Different sources of the memories of a namespace.';

-- How alike are two words? The share of their trigrams that they have in common, each padded by two blanks before and
-- one behind (as pg_trgm does). Pure.
create or replace function loci_internal.trigram_likeness(p_first text, p_second text) returns real
language sql immutable parallel safe
as $$
    with gram as (
        select distinct w.nth, substr(w.padded, n.at, 3) as text
        from (values (1, '  ' || p_first || ' '), (2, '  ' || p_second || ' ')) w(nth, padded)
        cross join lateral generate_series(1, length(w.padded) - 2) n(at)
    )
    select (count(*) - count(distinct g.text))::real / greatest(count(distinct g.text), 1) from gram g
$$;
comment on function loci_internal.trigram_likeness(text, text) is 'Share of trigrams that two words have in common.';

-- Which speakers does a question name, and by which of its words? word: in lower case, as it stands there; speaker: the
-- first word of a source. By its first word; by an alias of an entity that is called so; or by a word with a capital
-- that is spelt alike: a short form (Mel for Melanie), or one that no memory here has (Muhammad for Muhhamed), if
-- exactly one speaker is. p_names, p_entities: what question_names finds in the question. Cost: a look-up a speaker,
-- and a few for each word with a capital.
create or replace function loci_internal.named_speakers(p_namespace_id integer, p_query text, p_names text[],
                                                        p_entities uuid[])
returns table (word text, speaker text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_text     constant text := left(p_query, 2000);
    v_words    constant text[] := array(
        select distinct regexp_replace(w.word[1], '[''’]s$', '')
        from regexp_matches(lower(v_text), '[[:alnum:]]+(?:[''’][[:alnum:]]+)*', 'g') w(word));
    v_speakers text[];
begin
    v_speakers := array(select distinct substring(lower(s.source), '[[:alnum:]]+')
                        from loci_internal.list_speakers(p_namespace_id) s where s.source ~ '[[:alnum:]]');
    if v_speakers = '{}' then
        return;
    end if;
    return query
    with alias as materialized (
        select distinct q.name, s.first
        from unnest(p_names, p_entities) q(name, entity_id)
        join loci_data.entity_names n on n.namespace_id = p_namespace_id and n.entity_id = q.entity_id
        join unnest(v_speakers) s(first) on s.first = substring(n.canonical_name, '[[:alnum:]]+')
    ), spelt as materialized (
        select distinct lower(c.word[1]) as word
        from regexp_matches(regexp_replace(v_text, '^\W*\w+', ''), '\m([[:upper:]][[:alnum:]]{2,})', 'g') c(word)
        where lower(c.word[1]) <> all (v_speakers) and lower(c.word[1]) not in (select a.name from alias a)
    ), alike as (
        select p.word, min(s.first) as speaker
        from spelt p join unnest(v_speakers) s(first)
             on starts_with(s.first, p.word) and length(p.word) <= 0.6 * length(s.first)
             or loci_internal.trigram_likeness(p.word, s.first) >= 0.25
                and not loci_internal.is_word_here(p_namespace_id, p.word)
        group by p.word having count(*) = 1
    )
    select u.word, u.word from unnest(v_words) u(word) where u.word = any (v_speakers)
    union select a.name, a.first from alias a
    union select l.word, l.speaker from alike l;
end $$;
comment on function loci_internal.named_speakers(integer, text, text[], uuid[]) is
    'Speakers that a question names: by the first word of their source, an alias, or a like spelling.';

-- Does any memory of a namespace have a word? A look-up a term.
create or replace function loci_internal.is_word_here(p_namespace_id integer, p_word text) returns boolean
language sql stable set search_path = ''
as $$
    select exists (
        select from loci_data.namespaces n
        cross join lateral loci_internal.document_terms(n.language, p_word) t
        cross join lateral loci_internal.document_frequency(p_namespace_id, t.term) f
        where n.id = p_namespace_id and f.df > 0)
$$;
comment on function loci_internal.is_word_here(integer, text) is 'Whether any memory of a namespace has a word.';

-- What of a question is embedded by a model of whole texts? All but the names of those who speak there: every text of
-- theirs begins with the name, so that it says nothing, and drowns the rest. The question itself, where nothing else is
-- left. p_namespaces: those that are asked, null for all that the caller may read. Security definer: reads past the
-- policies, of namespaces that the caller may read. Errors: 42501, P0002, 22023, as recall_namespaces.
create or replace function loci_api.question_without_speakers(p_namespaces text[], p_own text, p_query text)
returns text
language plpgsql stable security definer set search_path from current
as $$
declare
    v_rest text := p_query;
    v_word text;
begin
    for v_word in
        select distinct s.word
        from loci_api.recall_namespaces(p_namespaces, p_own) n
        join loci_data.namespaces o on o.name = n.namespace
        cross join lateral (select array_agg(q.name) as names, array_agg(q.entity_id) as entities
                            from loci_internal.question_names(o.id, p_query) q) k
        cross join lateral loci_internal.named_speakers(o.id, p_query, k.names, k.entities) s
        where n.searched order by 1
    loop
        v_rest := regexp_replace(v_rest, '\m' || regexp_replace(v_word, '(\W)', '\\\1', 'g') || '([''’]s)?(?!\w)', ' ',
                                 'gi');
    end loop;
    v_rest := trim(regexp_replace(v_rest, '\s+', ' ', 'g'));
    return case when v_rest ~ '[[:alnum:]]' then v_rest else p_query end;
end $$;
comment on function loci_api.question_without_speakers(text[], text, text) is
    'A question without the names of those who speak in the namespaces that it is asked of. Errors: 42501, P0002, '
    '22023.';
