-- Marks of a text: names, numbers, digits, words.

-- What do readers of texts outside the database compare them by? For each text, in order:
--   name     what it is compared by if it is a name (canonical_name)
--   plain    the text with one form of every character (plain_text); folded is the same in lower case, character for
--            character
--   numbers  its numbers, dates and times as [place in plain, as written, in one form], in order (find_numbers)
--   implied  numbers that it accounts for (implied_numbers)
--   words    its words as {word: [English stem, German stem, class]} (text_words)
-- So words are cut, folded and stemmed, and numbers read, by the functions that compare facts where they are written,
-- and nowhere else. About 0.3 ms for 25 characters, and in proportion. Security definer: its parts are internal; it
-- reads no data.
create or replace function loci_api.text_marks(p_texts text[])
returns table (ordinal bigint, name text, plain text, folded text, numbers jsonb, implied text[], words jsonb)
language sql immutable parallel safe security definer set search_path = ''
as $$
    select t.nth, loci.canonical_name(t.content), p.plain, f.folded, coalesce(n.numbers, '[]'),
           loci_internal.implied_numbers(p.plain, n.forms), loci_internal.text_words(f.folded)
    from unnest(p_texts) with ordinality t(content, nth)
    cross join lateral loci_internal.plain_text(t.content) p(plain)
    cross join lateral loci.fold_characters(p.plain) f(folded)
    cross join lateral (select jsonb_agg(jsonb_build_array(r.place, r.spelled, r.form) order by r.place) as numbers,
                        array_agg(r.form) as forms
                        from loci_internal.find_numbers(p.plain) r) n
    order by t.nth
$$;
comment on function loci_api.text_marks(text[]) is
    'Texts as guards read them: plain and folded, numbers, words with stems and class, in order.';

-- Which numbers does a text account for, if its numbers are these (forms of find_numbers)? A date also its day, month
-- and year; any number its digits; one, zero and hundred are no number where they stand, but "1" may come from "a dog".
-- Pure.
create or replace function loci_internal.implied_numbers(p_text text, p_forms text[]) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(distinct i.form), '{}')
    from (select f.form from unnest(p_forms) f(form)
          union all
          select m[1] from regexp_matches(p_text, '(\d+(?:\.\d+)*)', 'g') m
          union all
          select p.part from unnest(p_forms) f(form)
          cross join lateral (select regexp_match(f.form, '^(?:(\d{4})|-)-(\d\d)(?:-(\d\d))?$') as part) d
          cross join lateral (values (d.part[1]), (d.part[2]::integer::text), (d.part[3]::integer::text),
                              (d.part[1] || '-' || d.part[2]),
                                     ('--' || d.part[2] || '-' || d.part[3])) p(part)
          union all
          select m[1] from unnest(p_forms) f(form) cross join lateral regexp_matches(f.form, '(\d+(?:\.\d+)*)', 'g') m
          where f.form not like '--%'
          union all
          select w.value from jsonb_each_text('{"one": "1", "a": "1", "an": "1", "eins": "1", "ein": "1", "eine": "1",'
                                              ' "einen": "1", "einem": "1", "einer": "1",
              "eines": "1", "zero": "0", "null": "0", "dozen": "12", "hundred": "100"}') w(word, value)
          where w.word = any (regexp_split_to_array(lower(p_text), '[^[:alpha:]]+'))) i
    where i.form is not null
$$;
comment on function loci_internal.implied_numbers(text, text[]) is
    'Numbers that a text with these numbers accounts for.';

-- The decimal digits of all scripts but those of a keyboard, ten after ten from 0 to 9 (Unicode 15, those that NFKC
-- leaves). Constant.
create or replace function loci_internal.other_digits() returns text
language sql immutable parallel safe
as $$
    select string_agg(chr(ascii(z.zero) + d.digit), '' order by z.nth, d.digit)
    from unnest(
        string_to_array(
            U&'\0660\06F0\07C0\0966\09E6\0A66\0AE6\0B66\0BE6\0C66\0CE6\0D66\0DE6\0E50\0ED0\0F20\1040\1090'
            '\17E0\1810\1946\19D0\1A80\1A90\1B50\1BB0\1C40\1C50\A620\A8D0\A900\A9D0\A9F0\AA50\ABF0'
            '\+0104A0\+010D30\+011066\+0110F0\+011136\+0111D0\+0112F0\+011450\+0114D0\+011650\+0116C0'
            '\+011730\+0118E0\+011950\+011C50\+011D50\+011DA0\+016A60\+016AC0\+016B50\+01E140\+01E2F0'
            '\+01E950', null))
        with ordinality z(zero, nth)
    cross join generate_series(0, 9) d(digit)
$$;
comment on function loci_internal.other_digits() is
    'Decimal digits of other scripts, from 0 to 9 for each.';

-- A text with one form of every character in which texts are read (NFKC): digits, hyphens and apostrophes are those of
-- a keyboard, and spaces stand around what is in a script without spaces between words. Letters stay as they are: see
-- fold_characters, which keeps every character in its place. Pure; an ASCII text passes.
create or replace function loci_internal.plain_text(p_text text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_text text;
begin
    if octet_length(p_text) = length(p_text) then
        return p_text;
    end if;
    v_text := translate(normalize(p_text, nfkc), loci_internal.other_digits(), repeat('0123456789', 100));
    v_text := translate(v_text, U&'\2010\2011\2212\2019', '---''');
    return regexp_replace(v_text,
                          '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-'
                          '\u9FFF\uAC00-\uD7A3]+)', ' \1 ', 'g');
end $$;
comment on function loci_internal.plain_text(text) is
    'A text with one form of every character, for readers of numbers and marks.';

-- The words of a folded text, each once, with their stems (English, German) and what they are: neg (it denies), stop (a
-- little word), opening (a word that sentences begin with) or null. Where no spaces stand between words, pairs of
-- characters are its words (ngrams), and their own stems. Either stem finds a form of a word, in any language. Pure;
-- about 5 µs a word.
create or replace function loci_internal.text_words(p_folded text) returns jsonb
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_terms text[] := loci_internal.ngrams(p_folded);
    v_pairs text := array_to_string(array(select distinct t from unnest(v_terms) t where length(t) > 1), ' ');
begin
    return (
    select coalesce(jsonb_object_agg(w.word, jsonb_build_array(w.stem, w.german, w.class)), '{}')
    from (select u.word, s.stem, coalesce(d.german[1], u.word) as german,
                 case when loci_internal.statement_lexicon() ->> u.word = 'neg'
                     or loci_internal.common_words() ->> u.word = 'neg' then 'neg'
                      when d.english = '{}' or d.german = '{}'
                      or loci_internal.statement_lexicon() ->> u.word in ('also', 'mood', 'now')
                           or loci_internal.common_words() ->> u.word = 'stop' then 'stop'
                      when loci_internal.common_words() ->> s.stem = 'opening' then 'opening' end as class
          from (select distinct m[1] as word from regexp_matches(loci_internal.spaced_text(p_folded), '(\w+)', 'g') m) u
          cross join lateral (select ts_lexize('pg_catalog.english_stem', u.word) as english,
                              ts_lexize('pg_catalog.german_stem', u.word) as german) d
          cross join lateral loci_internal.word_stem(u.word) s(stem)
          union all
          select distinct t, t, t, null::text from unnest(v_terms) t where length(t) > 1 or strpos(v_pairs, t) = 0) w);
end $$;
comment on function loci_internal.text_words(text) is
    'Words of a folded text with stems and class.';

-- A folded text with the character 1 between its tokens. A run of letters, digits and combining marks is one token;
-- every other character is one by itself, and so is every character of the scripts that put no space between words
-- (Thai, Lao, Burmese, Khmer, Chinese, Japanese) or glue particles to names (Korean). A name found on token limits is
-- thereby a whole word on each side where it ends in a letter or digit, and needs no boundary elsewhere. The space
-- before a token is part of its piece; further spaces stand as character 2. So the pieces are the text. Linear, all in
-- C. Pure, inlines.
create or replace function loci_internal.mark_tokens(p_folded text) returns text
language sql immutable parallel safe
return replace(replace(replace(replace(replace(
    regexp_replace(p_folded,
        '([^[:alnum:] '
        '\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u0610-\u061A\u064B-\u065F\u0670\u06D6-\u06ED\u0900-\u0963\u0966-'
        '\u0DFF\u1AB0-\u1AFF\u1DC0-\u1DFF\u200C\u200D\uFE20-\uFE2F]'
        '|[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3'
        '\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF])',
        E'\x01\\1\x01', 'g'),
    '  ', E' \x02'), E'\x02 ', E'\x02\x02'), ' ', E'\x01 '), E'\x01 \x01', E'\x01 '), E'\x02\x01', E'\x02');
comment on function loci_internal.mark_tokens(text) is
    'A folded text with character 1 between its tokens, and character 2 for spaces that follow a space.';

-- A statement with its subject in front, where its words do not name it: "Lives in Braga" of Rosa is "Rosa: Lives in
-- Braga". So it is indexed, embedded, and shown to a model. Whole words decide, whatever their case. Pure, inlines.
create or replace function loci_internal.text_with_subject(p_content text, p_about text) returns text
language sql immutable parallel safe
return case when p_about is null or strpos(
                regexp_replace(' ' || loci.fold_characters(left(p_content, 2000)) || ' ', '[^[:alnum:]]+', ' ', 'g'),
                regexp_replace(' ' || loci.canonical_name(p_about) || ' ', '[^[:alnum:]]+', ' ', 'g')) > 0
            then p_content else p_about || ': ' || p_content end;
comment on function loci_internal.text_with_subject(text, text) is
    'A statement with its subject in front, where its words do not name it.';
