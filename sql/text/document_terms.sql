-- The terms of a text with their frequencies, as postings count them: words as the configuration stems them, without
-- accents (plain_lexeme), and pairs of characters where a script has no spaces between words (ngrams). The same for
-- memories and for questions, so that they agree; what words_apart takes out of memories it takes out of questions
-- here. p_accents: words with accents also as they are written, as indexes held them that were made before
-- (accents_kept). A tsvector holds at most 1 MiB, so a long text is cut into pieces of 200,000 characters; a normal one
-- is one piece.
create or replace function loci_internal.document_terms(p_language regconfig, p_text text,
                                                        p_accents boolean default false)
returns table (term bigint, frequency bigint)
language sql immutable parallel safe
as $$
    select hashtextextended(t.lexeme, 0), sum(t.frequency)
    from (select case when octet_length(u.lexeme) = length(u.lexeme) then u.lexeme
                      else loci_internal.plain_lexeme(p_language, u.lexeme) end as lexeme,
                 cardinality(u.positions) as frequency
          from (select loci_internal.short_runs(loci_internal.words_apart(loci_internal.spaced_text(p_text))) as body) s
          cross join generate_series(1, greatest(length(s.body), 1), 200000) piece
          cross join unnest(to_tsvector(p_language, substr(s.body, piece, 200000))) u
          union all
          select u.lexeme, cardinality(u.positions)
          from (select loci_internal.short_runs(loci_internal.words_apart(loci_internal.spaced_text(p_text))) as body
                where p_accents) s
          cross join generate_series(1, greatest(length(s.body), 1), 200000) piece
          cross join unnest(to_tsvector(p_language, substr(s.body, piece, 200000))) u
          where octet_length(u.lexeme) <> length(u.lexeme)
            and u.lexeme <> loci_internal.plain_lexeme(p_language, u.lexeme)
          union all
          select g.term, 1 from unnest(loci_internal.ngrams(p_text)) g(term)) t
    group by t.lexeme
$$;
comment on function loci_internal.document_terms(regconfig, text, boolean) is
    'Hashed terms of a text and how often each occurs.';

-- How many words does a document hold, repeated ones counted (as the length in BM25)? Pure.
create or replace function loci_internal.count_terms(p_document tsvector) returns integer
language sql immutable parallel safe
as $$
    select coalesce(sum(cardinality(u.positions)), 0)::integer from unnest(p_document) u
$$;
comment on function loci_internal.count_terms(tsvector) is
    'Number of words of a tsvector.';

-- The terms of the part of a text that is in scripts without spaces between words, or with particles glued to them
-- (Korean): each pair of neighbours, each Chinese character by itself, and whatever stands alone between others. In the
-- order of the text, with repetition. Compatibility forms are folded (NFKC): half-width katakana are katakana. Linear.
-- Pure.
create or replace function loci_internal.cut_ngrams(p_text text) returns text[]
language sql immutable parallel safe
as $$
    select array_agg(g.term order by c.nth, length(g.term))
    from (select t.this, coalesce(lag(t.this) over (order by t.nth), ' ') as before,
          coalesce(lead(t.this) over (order by t.nth), ' ') as after, t.nth
          from unnest(string_to_array(regexp_replace(normalize(p_text, nfkc),
              '[^\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-'
              '\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF]+',
              ' ', 'g'), null)) with ordinality t(this, nth)) c
    cross join lateral (
        select c.this || c.after as term where c.after <> ' '
        union all
        select c.this where c.this ~ '[\u3400-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]' or c.before = ' '
            and c.after = ' ') g
    where c.this <> ' '
$$;
comment on function loci_internal.cut_ngrams(text) is
    'Pairs of characters, and single ones, of a text without spaces between words.';

-- The terms that stand for words where a text has no spaces between them (Thai, Lao, Burmese, Khmer, Chinese, Japanese;
-- and Korean); null for any other text, at the cost of a look at its length. See cut_ngrams. Pure, inlines.
create or replace function loci_internal.ngrams(p_text text) returns text[]
language sql immutable parallel safe
return case
    when octet_length(p_text) = length(p_text) then null
    when p_text ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF'
                  '\uAC00-\uD7A3\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF]'
    then loci_internal.cut_ngrams(p_text) end;
comment on function loci_internal.ngrams(text) is
    'Terms of a text in scripts without spaces between words; null where it has none.';

-- The part of a text that a parser of words can read: without the scripts that ngrams cuts, and with full-width letters
-- and digits as those of a keyboard (NFKC). Any other text as it is, composed (NFC). Pure, inlines.
create or replace function loci_internal.spaced_text(p_text text) returns text
language sql immutable parallel safe
return case
    when octet_length(p_text) = length(p_text) then p_text
    when p_text ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF'
                  '\uAC00-\uD7A3\uF900-\uFAFF\uFF01-\uFF9F\U00020000-\U0003FFFF]'
    then regexp_replace(normalize(p_text, nfkc),
        '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3'
        '\uF900-\uFAFF\U00020000-\U0003FFFF]+',
        ' ', 'g')
    when p_text is nfc normalized then p_text
    else normalize(p_text, nfc) end;
comment on function loci_internal.spaced_text(text) is
    'A text without the scripts that have no spaces between words.';

-- A text whose runs of characters without white space are cut after each 200. PostgreSQL's parser of words looks ahead
-- to the end of a run to see whether it is an address, a path or a host, from many places in it: `a1@a1@…` costs the
-- square of its length (20,000 characters: 13 s; cut: 0.1 s). Texts of people have no such runs. Linear. Pure.
create or replace function loci_internal.short_runs(p_text text) returns text
language sql immutable parallel safe
return case
    when octet_length(p_text) > 200 and p_text ~ '\S{201}' then regexp_replace(p_text, '(\S{200})(?=\S)', '\1 ', 'g')
    else p_text end;
comment on function loci_internal.short_runs(text) is
    'A text whose runs without white space are cut after each 200 characters.';
