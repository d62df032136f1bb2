-- Small talk and other texts that state nothing.

-- Which items are greetings or thanks in a language whose courtesies nobody listed, by their place? A short sentence
-- that opens or closes what somebody said, and has no word of structure: what states something has a pronoun, a copula,
-- a negation or a preposition, and Postgres knows those of many languages as stop words. Only of what was said in a
-- conversation (spoken: the number of the turn), and where the turn is neither English nor German, whose courtesies
-- is_small_talk knows. Pure; 1.5 ms for each turn with a sentence so short, else 0.1 ms a sentence.
create or replace function loci_internal.courtesies(p_items jsonb) returns integer[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
    return (
    with said as materialized (
        select (i.place - 1)::integer as place, i.value ->> 'spoken' as turn, i.value ->> 'content' as content,
               lag(i.place) over w is null as opens, lead(i.place) over w is null as closes
        from jsonb_array_elements(p_items) with ordinality i(value, place)
        where i.value ? 'spoken'
        window w as (partition by i.value ->> 'spoken' order by i.place)
    )
    select coalesce(array_agg(s.place order by s.place), '{}') from said s
    cross join lateral (select string_agg(t.content, ' ' order by t.place) as whole,
                               string_agg(t.content, ' ' order by t.place) filter (where t.place <> s.place) as beside
                        from said t where t.turn = s.turn) t
    cross join lateral (select case when length(s.content) <= 40 and (s.opens or s.closes)
                                    then loci_internal.foreign_languages(t.whole) end as spoken) l
    where l.spoken is not null
      and loci_internal.is_bare_phrase(s.content, s.opens, s.closes,
                                       coalesce(loci_internal.foreign_languages(t.beside), l.spoken)));
end $$;
comment on function loci_internal.courtesies(jsonb) is
    'Places of items that are greetings or thanks in languages other than English and German.';

-- Is a sentence a phrase without a word of structure? One word, or at most three with an exclamation mark, the second
-- of two a name where they open a turn; where no spaces stand between words, at most five characters, or as many kana
-- as a courtesy has. No digit. All that was said may be an answer, unless it is an exclamation. p_languages: those that
-- it may be in; null: none. Pure.
create or replace function loci_internal.is_bare_phrase(p_text text, p_opens boolean, p_closes boolean,
                                                        p_languages text[]) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_bare  text;
    v_words text[];
    v_cries constant boolean := p_text ~ '[!\uFF01]';
begin
    if p_languages is null or p_text ~ '[0-9]' or p_opens and p_closes and not v_cries then
        return false;
    end if;
    v_bare := btrim(regexp_replace(p_text, '[^[:alpha:]\u0300-\u036F\u0900-\u0D7F\u0E00-\u0E7F]+', ' ', 'g'));
    v_words := string_to_array(v_bare, ' ');
    return case
        when v_bare ~ '^[\u3041-\u3096\u30FC]{2,12}$' then v_bare !~ '[をが](?!と)'
        when v_bare ~ '[\u3040-\u30FF\u3400-\u9FFF]' then
            length(v_bare) <= 5 and v_bare !~ '[我他她它有是了不没在的吃私僕俺はがをに]'
        when v_bare ~ '[\u0E00-\u0E7F]' then
            length(v_bare) <= 12 and v_bare !~ 'ฉัน|^ผม|เรา|เป็น|มี|ไม่|อยู่|ชอบ'
        when v_bare ~ '(예요|에요|입니다|해요|아요|어요)$' then false
        else cardinality(v_words) between 1 and case when v_cries then 3 else 1 end
             and (array_to_string(v_words[2:], ' ') !~ '[[:upper:]]' or p_opens and cardinality(v_words) = 2)
             and not exists (select from unnest(v_words) w(word) cross join loci_internal.stop_word_dictionaries() d
                             where d.language = any (p_languages)
                               and ts_lexize(d.dictionary, lower(w.word)) = '{}') end;
end $$;
comment on function loci_internal.is_bare_phrase(text, boolean, boolean, text[]) is
    'Whether a sentence is a short phrase without a word of structure.';

-- Which languages may a text be in that is neither English nor German; null: it is one of these? It has letters or
-- signs that neither uses, or its little words are more often those of others; languages with most of these words are
-- named, or all if it has none. Pure.
create or replace function loci_internal.foreign_languages(p_text text) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_strange constant boolean := p_text ~ '[¿¡]' or p_text
        ~ '[^\u0001-\u007FÄÖÜäöüß\u00A0\u2010-\u2027\u20A0-\u2BFF\U0001F000-\U0001FAFF]';
begin
    return (
    with counted as (
        select d.language, d.language in ('english', 'german') as own, count(*) as words,
               count(*) filter (where ts_lexize(d.dictionary, w.word) = '{}') as hits
        from regexp_split_to_table(lower(left(p_text, 1000)), '[^[:alpha:]]+') w(word)
        cross join loci_internal.stop_word_dictionaries() d
        where w.word <> '' group by d.language
    ), most as (
        select max(c.hits) filter (where c.own) as own, max(c.hits) filter (where not c.own) as other,
               max(c.words) as words from counted c
    )
    select array_agg(d.language order by d.language) from loci_internal.stop_word_dictionaries() d cross join most m
    left join counted c on c.language = d.language
    where d.language not in ('english', 'german') and coalesce(c.hits = m.other, true)
      and (v_strange or m.other > m.own or m.other = m.own and 3 * m.own < m.words and (m.words = 1 or m.words >= 5)));
end $$;
comment on function loci_internal.foreign_languages(text) is
    'Languages that a text may be in; null: it is English or German.';

-- The dictionaries of Postgres that know the little words of a language. Constant.
create or replace function loci_internal.stop_word_dictionaries()
returns table (language text, dictionary regdictionary)
language sql immutable parallel safe rows 14
as $$
    values ('danish', 'pg_catalog.danish_stem'::regdictionary), ('dutch', 'pg_catalog.dutch_stem'),
           ('english', 'pg_catalog.english_stem'), ('finnish', 'pg_catalog.finnish_stem'),
           ('french', 'pg_catalog.french_stem'), ('german', 'pg_catalog.german_stem'),
           ('hungarian', 'pg_catalog.hungarian_stem'), ('italian', 'pg_catalog.italian_stem'),
           ('norwegian', 'pg_catalog.norwegian_stem'), ('portuguese', 'pg_catalog.portuguese_stem'),
           ('russian', 'pg_catalog.russian_stem'), ('spanish', 'pg_catalog.spanish_stem'),
           ('swedish', 'pg_catalog.swedish_stem'), ('turkish', 'pg_catalog.turkish_stem')
$$;
comment on function loci_internal.stop_word_dictionaries() is
    'Dictionaries that know the little words of a language.';

-- Which items state nothing, by their place, and why? Those without a letter or a digit of any script, questions, and
-- of what was said in a conversation (spoken) small talk, requests and courtesies of any language. Pure.
create or replace function loci_internal.items_that_state_nothing(p_items jsonb) returns jsonb
language sql immutable parallel safe
as $$
    select coalesce(jsonb_object_agg(i.place - 1, w.reason), '{}')
    from jsonb_array_elements(p_items) with ordinality i(value, place)
    cross join (select loci_internal.courtesies(p_items) as places) c
    cross join lateral (select case
        when i.value ->> 'content' !~ '[[:alnum:]]' then 'it has no letter and no digit, and states nothing'
        when loci_internal.is_question(i.value ->> 'content') then 'it is a question and states nothing'
        when i.value ? 'spoken' and loci_internal.is_small_talk(i.value ->> 'content')
            or i.place - 1 = any (c.places)
            then 'it is small talk, or asks for something, and states nothing' end as reason) w
    where w.reason is not null
$$;
comment on function loci_internal.items_that_state_nothing(jsonb) is
    'Why items state nothing, by their place: marks alone, questions, small talk, requests.';

-- Is a text a question, which states nothing? It ends with a question mark, in any script, which Greek writes as a
-- semicolon and Armenian within a word; not where it only asks for assent (Bob likes tea, right?). Pure, inlines.
create or replace function loci_internal.is_question(p_text text) returns boolean
language sql immutable parallel safe
as $$
    select (p_text ~ '[?\uFF1F\u061F\u037E\u1367]["''\u201C\u201D\u2019\u00BB\u300D)\]]*\s*$'
            or p_text ~ '[\u0370-\u03FF\u1F00-\u1FFF];\s*$' or p_text ~ '[\u0531-\u0587]\u055E')
       and p_text !~* ',\s*(right|correct|ok|okay|oder|nicht wahr|stimmt''?s|gell)\s*\?\s*$'
$$;
comment on function loci_internal.is_question(text) is 'Whether a text is a question.';

-- Is a sentence of a conversation small talk (greetings, thanks, assent, what assistants say to be polite), or does it
-- ask for something (write me …, can you …, what is …)? English and German, whole sentences of at most 300 characters:
-- in doubt it is a fact, as is what is to be remembered, and a sentence that tells something beside. Pure.
create or replace function loci_internal.is_small_talk(p_text text) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_said text;
begin
    if length(p_text) > 300 then
        return false;
    end if;
    v_said := replace(lower(p_text), U&'\2019', '''');
    v_said := btrim(regexp_replace(regexp_replace(v_said, '[^[:alnum:][:space:]'',:;-]+', ' ', 'g'), '\s+', ' ', 'g'),
                    ' ,;:-');
    return v_said = '' or loci_internal.is_polite_phrase(v_said) or loci_internal.offers_help(v_said)
        or loci_internal.asks_for_something(v_said);
end $$;
comment on function loci_internal.is_small_talk(text) is
    'Whether a sentence of a conversation is small talk or a request, and states nothing.';

-- Is a folded sentence made of greetings, thanks and assent alone, at most four of them? Pure, inlines.
create or replace function loci_internal.is_polite_phrase(p_said text) returns boolean
language sql immutable parallel safe
as $$
    select p_said ~
        '^((((hi|hello|hey|hiya|greetings|hallo|servus|moin|welcome|good (morning|afternoon|evening|night|day)|'
        'guten (morgen|tag|abend)|gute nacht)( (back|there|all|everyone|again|team|zusammen|[a-zäöüß]+))?)|(many |'
        'so many )?(thanks|thank you|thx|cheers|danke|dankeschön|vielen dank|besten dank)( (a lot|a million|so much|'
        'very much|again|everyone|sehr|schön|dir|ihnen|nochmals?|for (your|the|all the|all your) (help|reply|answer|'
        'time|info|information|update)))*|(you are|you''re) (very |most )?welcome|no problem|no worries|my pleasure|'
        'anytime|gerne?( geschehen)?|bitte( sehr| schön)?|kein problem|nichts zu danken|(good)?bye|bye bye|'
        'see you( soon| later| tomorrow)?|take care|have a (nice|good|great|lovely) (day|evening|weekend|one|time)|'
        'tschüss|ciao|bis (bald|später|morgen|dann)|schönen (tag|abend)( noch)?|auf wiedersehen|yes|yeah|yep|yup|no|'
        'nope|ok|okay|sure|sure thing|of course|certainly|absolutely|definitely|exactly|indeed|right|correct|true|'
        'alright|all right|fine|great|good|perfect|nice|cool|awesome|amazing|wonderful|excellent|fantastic|super|lol|'
        'haha+|hmm+|wow|oh|ah|aha|hm|well|please|got it|i see|i understand|understood|(that )?makes sense|'
        'sounds (good|great|fine)|noted|will do|go ahead|never ?mind|(that''s|that is) (right|correct|true|great|'
        'good|fine|nice|perfect|all|it)|interesting|how (nice|lovely|interesting|exciting)|ja|jep|nein|nee|'
        '(na )?klar|alles klar|genau|stimmt|richtig|gut|sehr gut|prima|toll|passt|schön|verstanden|verstehe|'
        'einverstanden|in ordnung)( (please|bitte|then|dann|so|too))?[,;:]? ?){1,4}$'
$$;
comment on function loci_internal.is_polite_phrase(text) is
    'Whether a folded sentence consists of greetings, thanks and assent.';

-- Does a folded sentence only offer help, or promise it? Pure, inlines.
create or replace function loci_internal.offers_help(p_said text) returns boolean
language sql immutable parallel safe
as $$
    select p_said ~
        '^((sure|of course|certainly|absolutely|okay|ok|great|perfect|got it|thanks|thank you|klar|gerne?|natürlich|'
        'alright|no problem),? )*((i''m|i am|we''re|we are) (always )?(happy|glad|here|sorry|delighted|'
        'pleased) .*(help|assist|hear|inconvenience|confusion)\M.*|(please )?(feel free|don''t hesitate) to\M.*|'
        '(please )?let me know (if|when|what|how|whether)\M.*|(i )?hope (this|that|it) helps\M.*|(just )?(ask|'
        'tell me|say so) if\M.*|(i''ll|i will|let me|i can|i''d be happy to) (gladly |happily )?(help|'
        'keep that in mind|remember (that|this|it)|note (that|this|it)|make a note( of (that|this|it))?|'
        'look into (that|this|it)|check( that| this| it)?|do that|take a look|get right on it)( for you| then| now|'
        ' down| with that)*|das merke ich mir|ich werde mir das merken|(ich )?hoffe,? das hilft\M.*|'
        'sag (mir )?(einfach )?bescheid\M.*)$'
$$;
comment on function loci_internal.offers_help(text) is 'Whether a folded sentence only offers help.';

-- Is a folded sentence only a request? Pure, inlines.
create or replace function loci_internal.asks_for_something(p_said text) returns boolean
language sql immutable parallel safe
as $$
    select p_said ~
        '^((and|so|ok|okay|well|then|also|now|hey|hi|hello|und|also|dann|please|bitte),? )*((can|could|would|'
        'will) you\M|(what|who|why|where|how) (is|are|was|were|do|does|did|can|should|would|about|much|many|to)\M|'
        '(kannst|könntest|würdest) du\M|(können|könnten) sie\M|(was|wer|wo|wie|warum|wann) (ist|sind|war|waren|kann|'
        'soll|macht|geht|viel|viele)\M|(tell|show|give|help|send|teach|ask) (me|us)\M|(explain|summari[sz]e|'
        'translate|rewrite|rephrase|draft|generate|compose|brainstorm|proofread)\M|(write|make|create|build|find|'
        'list|suggest|recommend|add|fix|check|run|read|look up|search|change|update|describe|compare|plan|prepare|'
        'book|open|try|stop) (me|us|it|this|that|these|those|a|an|the|some|my|your|for|up|with|again)\M|i (want|'
        'need) you to\M|(i''d|i would) like you to\M|let''s\M|lass uns\M|(erkläre?|zeige?|gib|sag|schreibe?|'
        'übersetze|hilf|erstelle|suche|finde) (mir|uns|bitte|eine?n?|das|die|den|es)\M).*$'
       and p_said !~
        '\m(remember|note that|keep in mind|merk|notiere|because|since|my name is|i am|i''m|i live|i work|i like|'
        'i prefer|i have|ich heiße|ich bin|ich wohne|ich mag|weil)\M'
$$;
comment on function loci_internal.asks_for_something(text) is
    'Whether a folded sentence asks for something, and tells nothing beside.';
