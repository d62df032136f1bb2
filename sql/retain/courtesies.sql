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
-- signs that both have not, or its little words are more often those of others; they are named that have most of them,
-- or all where it has none. Pure.
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
