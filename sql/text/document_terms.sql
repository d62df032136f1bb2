-- Terms of a document, as the lexical index has them.

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

-- Cut the runs of characters without white space after each 200. PostgreSQL's parser of words looks ahead to the end of
-- a run to see whether it is an address, a path or a host, from many places in it: `a1@a1@…` costs the square of its
-- length (20,000 characters: 13 s; cut: 0.1 s). Texts of people have no such runs. Linear. Pure.
create or replace function loci_internal.short_runs(p_text text) returns text
language sql immutable parallel safe
return case
    when octet_length(p_text) > 200 and p_text ~ '\S{201}' then regexp_replace(p_text, '(\S{200})(?=\S)', '\1 ', 'g')
    else p_text end;
comment on function loci_internal.short_runs(text) is
    'A text whose runs without white space are cut after each 200 characters.';

-- Which words find a memory? Who said it, when it was true (if the writer said so), whom it is about (if the words do
-- not say), the content, its tags and the words of its category. Without the signs that words_apart takes out.
create or replace function loci_internal.indexed_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select loci_internal.words_apart(concat_ws(' ',
    case when p_memory.valid_from <> p_memory.recorded_at
        then to_char(p_memory.valid_from at time zone 'UTC', 'FMDD FMMonth YYYY') end,
    p_memory.source,
    loci_internal.text_with_subject(p_memory.content, p_memory.about),
    nullif(array_to_string(p_memory.tags, ' '), ''),
    case when p_memory.category <> 'general' then translate(p_memory.category, '-', ' ') end))
$$;
comment on function loci_internal.indexed_text(loci_data.memories) is
    'Text under which a memory is indexed: date and source where stated, content, tags, words of the category.';

-- A text without signs that mislead the parser of PostgreSQL: it drops markup, and after `<script>` everything to the
-- end of the text; and it takes words with slashes between them for one, a path, and addresses of mail for one, both
-- found as a whole only. So `tea/coffee` is two words, `service/app.py` is found by `app.py`, and `ines@example.org` by
-- `ines`. Questions are read alike. Pure, inlines.
create or replace function loci_internal.words_apart(p_text text) returns text
language sql immutable parallel safe
return translate(p_text, '</@', '   ');
comment on function loci_internal.words_apart(text) is
    'A text without markup and with the parts of paths and addresses as words of their own.';

-- Words as a query that any of them answers. Quoted by the rules of tsquery. Pure.
create or replace function loci_internal.or_tsquery(p_terms text[]) returns tsquery
language sql immutable parallel safe
as $$
    select string_agg('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    from unnest(p_terms) t(term)
$$;
comment on function loci_internal.or_tsquery(text[]) is
    'Words as an OR query; null for none.';

-- A word of a text without its accents: "crêpes" is the word that "crepes" is, "Muñoz" that of "Munoz". The stemmer of
-- the language comes first, since it may read them (French, Spanish); that of English, which does not, is asked once
-- more without them. Latin and Greek letters; others stay, such as й. Where accents make letters of
-- their own, they stay as well: so in seven configurations. No accents: as it is. Pure, as far as a configuration is.
create or replace function loci_internal.plain_lexeme(p_language regconfig, p_lexeme text) returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_plain text := translate(normalize(regexp_replace(normalize(p_lexeme, nfd), '([a-zα-ω])[\u0300-\u036f]+', '\1',
                                                       'g'), nfc), 'łøđħı', 'lodhi');
    v_name  text;
begin
    if v_plain = p_lexeme then
        return p_lexeme;
    end if;
    select c.cfgname into v_name from pg_catalog.pg_ts_config c where c.oid = p_language;
    if v_name = any ('{danish,estonian,finnish,hungarian,norwegian,swedish,turkish}') then
        return p_lexeme;
    elsif v_name = 'english' and v_plain ~ '^\w+$' then
        return coalesce((select u.lexeme from unnest(to_tsvector(p_language, v_plain)) u limit 1), v_plain);
    end if;
    return v_plain;
end $$;
comment on function loci_internal.plain_lexeme(regconfig, text) is
    'A word without accents, as the lexical index has it.';

-- The text search configuration of a name; one catalogue look-up. Errors: 22023 where this server has none of that
-- name.
create or replace function loci_internal.text_language(p_language text) returns regconfig
language plpgsql stable set search_path = 'pg_catalog'
as $$
begin
    if not exists (select from pg_ts_config where cfgname = p_language) then
        raise invalid_parameter_value
            using message = format('language %L is not a text search configuration of this server', p_language),
            column = 'language';
    end if;
    return p_language::regconfig;
end $$;
comment on function loci_internal.text_language(text) is
    'Text search configuration of a name. Errors: 22023.';

-- To what does a statement give a value, if to something that has one at a time (value_signal)? Terms of subject and
-- predicate: two statements that share one may conflict. Pure.
create or replace function loci_internal.value_terms(p_statement loci_internal.statement) returns text[]
language sql immutable parallel safe
as $$
    select case when p_statement.relation = 'fn' or p_statement.relation = 'count' and p_statement.kind = 'number'
                     or p_statement.relation = 'be' and (p_statement.roles or p_statement.kind <> 'word')
        then array['v ' || p_statement.predicate || ': '
                   || array_to_string(array(select distinct s from unnest(p_statement.subject) s order by s), ' ')]
             || case when p_statement.relation = 'fn' and cardinality(p_statement.subject) = 1
                 then array['v ' || p_statement.predicate || ': '] else '{}' end
        else '{}' end
$$;
comment on function loci_internal.value_terms(loci_internal.statement) is
    'Terms of subject and predicate of a statement that gives a value to something that has one.';
