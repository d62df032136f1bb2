-- Speakers: whom a question names, and who said a hit.

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

-- What of a question is embedded by a model of whole texts? Names of speakers are left out: every text of theirs begins
-- with the name, which would outweigh the other words. The question itself, where nothing else is left. p_namespaces:
-- those that are asked, null for all that the caller may read. Security definer: reads past the policies, of namespaces
-- that the caller may read. Errors: 42501, P0002, 22023, as recall_namespaces.
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

-- How do memories stand to whom a question is about? For each that does: about (it is about one whom the question
-- names, by name), told (one whom the question names says it in the first person), said (that one says it otherwise),
-- own (the party that asks says it in the first person, and asks of itself), foreign (another party says so), role (it
-- begins with a name that the question has as the object of its verb: Bob manages Ann, where who manages Bob is asked),
-- namesake (it begins with another name of the same stem, and does not have the one that is asked for). One scan
-- of the index of document numbers; an opening is folded only where it may begin as a name does. p_names, p_entities:
-- what question_names finds in the question.
create or replace function loci_internal.hit_standings(p_namespace_id integer, p_query text, p_user text,
                                                       p_documents bigint[], p_names text[], p_entities uuid[])
returns table (doc_id bigint, standing text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_asked    loci_internal.asked_of :=
        loci_internal.whom_is_asked(p_namespace_id, p_query, p_user, p_names, p_entities);
    v_named    boolean := v_asked.names <> '{}';
    v_stems    text[] := array(select loci_internal.word_stem(n.name) from unnest(v_asked.names) n(name));
    v_first    text[] := array(select left(n.name, 1) from unnest(v_asked.names) n(name));
    v_words    text[] := array(select loci_internal.word_stem(w.word) from unnest(v_asked.words) w(word));
    v_speakers text[];
begin
    if not v_named and not v_asked.first and not exists (
            select from loci_data.memories m where m.namespace_id = p_namespace_id and m.source is not null) then
        return;
    end if;
    v_speakers := v_asked.words;
    if v_asked.names <> '{}' then  -- speakers by other names than the words of their sources
        v_speakers := v_speakers
            || array(select n.speaker
                     from loci_internal.named_speakers(p_namespace_id, p_query, p_names, p_entities) n);
    end if;
    return query
    select m.doc_id, s.standing
    from (
        select o.doc_id, o.content, o.about, o.source, o.created_by, case
                   when v_asked.object or octet_length(o.content) <> length(o.content)
                        or lower(substring(o.content, '[^\u0001-\u0020"([*#>\u007F-]')) = any (v_first)
                   then ltrim(loci.fold_characters(left(o.content, 500)), ' "([*#>-') end as opening
        from loci_data.memories o
        where o.namespace_id = p_namespace_id and o.doc_id = any (p_documents) offset 0) m
    cross join lateral (select substring(m.opening, '^[[:alnum:]]+') as first_word offset 0) f
    cross join lateral (select case
        -- it begins with a name that the question has as the object of its verb, and then with that verb
        when v_asked.object and m.about is null and exists (
            select from unnest(v_asked.names) n(name)
            cross join lateral (select substring(substr(m.opening, length(n.name) + 2), '^[[:alnum:]]+') as verb) v
            where starts_with(m.opening, n.name || ' ')
              and length(v.verb) > 3 and loci_internal.word_stem(v.verb) = any (v_words)) then 'role'
        when v_named and case
            when m.about is not null then loci.canonical_name(m.about) = any (v_asked.names)
            else m.opening is not null and exists (
                select from unnest(v_asked.names) n(name)
                where case when starts_with(m.opening, n.name)
                           then substr(m.opening, length(n.name) + 1, 1) !~ '[[:alnum:],]'
                           else v_asked.object and exists (  -- its verb stands before the name
                               select from (select substring(left(m.opening, strpos(m.opening, ' ' || n.name) - 1),
                                                             '[[:alnum:]]+$') as verb) v
                               where strpos(m.opening, ' ' || n.name) > 0
                                 and length(v.verb) > 3 and loci_internal.word_stem(v.verb) = any (v_words)) end)
            end then 'about'
        when v_asked.first and m.about is null and loci.is_first_person(m.content) then
            case when loci_internal.memory_party(m.source, m.created_by) = v_asked.party then 'own'
                 when lower(m.source) is distinct from 'assistant' then 'foreign' end  -- that is no other user
        when substring(lower(m.source), '[[:alnum:]]+') = any (v_speakers) then
            case when strpos(m.content, ' I ') between 1 and 1998 or strpos(m.content, ' I''') between 1 and 1998
                      or loci.is_first_person(m.content) then 'told' else 'said' end  -- it is slow, and most say I
        -- names are equal or not: Andreas is not Andrea, whatever the stems say
        when v_named and m.about is null and left(f.first_word, 1) = any (v_first) and exists (
            select from unnest(v_asked.names, v_stems) n(name, stem)
            where f.first_word <> n.name and loci_internal.word_stem(f.first_word) = n.stem
              and strpos(regexp_replace(' ' || m.opening || ' ', '[^[:alnum:]]+', ' ', 'g'), ' ' || n.name || ' ') = 0)
            then 'namesake' end as standing offset 0) s  -- judged once
    where s.standing is not null;
end $$;
comment on function loci_internal.hit_standings(integer, text, text, bigint[], text[], uuid[]) is
    'How memories stand to whom a question is about: about, told, said, own, foreign, role, namesake.';

-- Of whom does a question ask? names: canonical names of what it names: known ones (question_names), with all
-- their aliases, and words with a capital that are not its first. words:
-- its words, by which speakers are named; first: it asks of the one who asks (I, my, and me where it names nobody);
-- party: whom that means; object: what it names is the object of its verb (who manages Bob), and not its subject (whom
-- does Bob manage). p_names, p_entities: what question_names finds. Errors: 42501 (user).
create or replace function loci_internal.whom_is_asked(p_namespace_id integer, p_query text, p_user text,
                                                       p_names text[], p_entities uuid[])
returns loci_internal.asked_of
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_text   constant text := left(p_query, 2000);
    v_folded constant text := loci.fold_characters(v_text);
    -- Without titles: what is quoted, and two and more words with a capital ("My Three Merry Widows").
    v_plain  constant text := regexp_replace(v_text, '"[^"]*"|(?<=\w\W+)([[:upper:]]\w* +)+[[:upper:]]\w*', ' ', 'g');
    v_asked  loci_internal.asked_of;
    v_spelt  text[];
begin
    v_asked.words := array(select regexp_replace(w.word[1], '''s$', '')
                           from regexp_matches(v_folded, '[[:alnum:]]+(?:''[[:alnum:]]+)*', 'g') w(word));
    v_spelt := array(select loci.canonical_name(regexp_replace(c.word[1], '[''’]s$', ''))
                     from regexp_matches(regexp_replace(v_text, '^\W*\w+', ''),
                                         '\m([[:upper:]][[:alnum:]]*(?:[''’]s\M)?(?: +[[:upper:]][[:alnum:]]+)*)',
                                         'g') c(word)
                     where c.word[1] !~ '^I\M');
    v_asked.names := array(
        select distinct k.name
        from (select q.name, q.entity_id from unnest(p_names, p_entities) q(name, entity_id)
              union all select u, null from unnest(v_spelt) u) a(name, entity_id)
        cross join lateral (select a.name union select n.canonical_name from loci_data.entity_names n
                            where n.namespace_id = p_namespace_id and n.entity_id = a.entity_id) k(name));
    v_asked.first := loci.is_first_person(v_plain)
        and (v_asked.names = '{}' or v_plain ~ '\m([Mm]y|[Oo]ur|[Mm]eine?[mnrs]?|[Uu]nsere?[mnrs]?)\M'
             or v_plain ~* ('\m(do|did|am|are|was|were|have|had|can|could|should|will|would|must|may|habe|haben|hatte|'
                            'bin|sind|war|kann|soll|muss|will|darf)\s+(i|we|ich|wir)\M'));  -- not Margaret I of Spain
    v_asked.party := loci_internal.asking_party(p_user);
    v_asked.object := coalesce((
        select substr(v_folded, 1, min(strpos(v_folded, n.name)) - 1)
               ~ ('^[^[:alnum:]]*(who|what|which|wer|was|welche[rs]?) '
                  '((?!(is|are|was|were|am|be|been|do|does|did|has|have|had|will|would|can|could|should|may|might|'
                  'must|by|ist|sind|war|waren|hat|haben|hatte|wird|wurde|kann|soll|muss|von)\M)[[:alnum:]]+ )+$')
        from unnest(v_asked.names) n(name) where strpos(v_folded, n.name) > 0), false);
    return v_asked;
end $$;
comment on function loci_internal.whom_is_asked(integer, text, text, text[], uuid[]) is
    'Subject of a question: names, words, whether it is the one who asks, and in which role.';
