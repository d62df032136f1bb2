-- How do memories stand to whom a question is about? For each that does: about (it is about one whom the question
-- names, by name), told (one whom the question names says it in the first person), said (that one says it otherwise),
-- own (the party that asks says it in the first person, and asks of itself), foreign (another party says so), role (it
-- begins with a name that the question has as the object of its verb: Bob manages Ann, where who manages Bob is asked),
-- namesake (it begins with another name of the same stem, and does not have the one that is asked for). A look-up by
-- document number each; its opening is folded only where it may begin as a name does. p_names, p_entities: what
-- question_names finds in the question.
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
    if not v_named and v_asked.words = '{}' and not v_asked.first then
        return;
    end if;
    v_speakers := v_asked.words;
    if v_asked.names <> '{}' then  -- speakers by other names than the words of their sources
        v_speakers := v_speakers
            || array(select n.speaker
                     from loci_internal.named_speakers(p_namespace_id, p_query, p_names, p_entities) n);
    end if;
    return query
    select d.doc_id, s.standing
    from (select distinct u.doc_id from unnest(p_documents) u(doc_id)) d
    cross join lateral (
        select o.content, o.about, o.source, o.created_by, case
                   when v_asked.object or octet_length(o.content) <> length(o.content)
                        or lower(substring(o.content, '[^\u0001-\u0020"([*#>\u007F-]')) = any (v_first)
                   then ltrim(loci.fold_characters(left(o.content, 500)), ' "([*#>-') end as opening
        from loci_data.memories o
        where o.namespace_id = p_namespace_id and o.doc_id = d.doc_id limit 1) m
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
            case when loci.is_first_person(m.content) then 'told' else 'said' end
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
