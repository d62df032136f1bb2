-- Parts of a fact, read from its text.

-- What retain compares a fact by (type loci_api.fact_reading): its stems in order, without articles, a few synonyms
-- being one; where no spaces stand between words, pairs of characters; who speaks; whether it was so; signs that words
-- do not show (C++ is not C, a question is no statement). Reads the first 2,000 characters; a longer text is like no
-- other and contradicts nothing. Pure; about 0.35 ms, most of it read_statement.
create or replace function loci_internal.read_fact(p_text text) returns loci_api.fact_reading
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_read   loci_api.fact_reading;
    v_text   constant text := left(p_text, 2000);
    v_alike  constant jsonb
        := '{"resid": "live", "dwell": "live", "utilis": "use", "utiliz": "use", "util": "use", "purchas": "buy", '
           '"assist": "help", "commenc": "start", "begin": "start"}';
    v_aside  constant text  -- what is so, said after what is not; what was so before, said after what is
        := '((?:\m(?:not|nicht|kein\w*)|n[''\u2019]t)\M(?!\s+(?:only|just|nur))[^.,;]*)'
           '(,?\s*\m(?:but|sondern)\M[^.;]*|[,;]\s*(?:it|he|she|they|we|i|er|sie|es|wir|ich)\M[^.;]*)|'
           '([,;(]\s*(?:and\s+|und\s+)?(?:formerly|previously|früher|vorher|zuvor|ehemals|vormals)\M[^.;]*)';
    v_apart  text[] := regexp_match(v_text, v_aside, 'i');
    v_denied constant text[] := regexp_match(  -- what is so, and then what is not: I drive a Saab, not a Volvo
        v_text, '^([^?]+[^?\s,;(])\s*[,;(\u2013\u2014-]\s*(?:and\s+|und\s+)?(?:not|nicht|kein\w*)\s+'
                '([^,;.!?()]{1,60})\)?[.!]*\s*$', 'i');
begin
    if v_denied is null or v_denied[1] ~* '\m(not|never|no|nicht|nie|kein\w*)\M|n[''\u2019]t\M' then
        v_read.said := loci_internal.read_statement(regexp_replace(v_text, v_aside, '\1', 'i'));
    else
        v_read.said := loci_internal.read_statement('No, ' || v_denied[1]);
        v_read.said.replaced := (loci_internal.read_statement(v_denied[2])).sequence;
        v_apart := array[null, v_denied[2]];
    end if;
    select array_agg(coalesce(v_alike ->> w.stem, w.stem) order by w.place),
           array_agg(coalesce((v_read.said).spoken ->> w.stem, w.stem) order by w.place)
    into v_read.gist, v_read.spoken
    from unnest((v_read.said).words) with ordinality w(stem, place) where w.stem not in (':', '=');
    if v_apart is not null then  -- it is part of what is said
        v_read.gist := v_read.gist || regexp_split_to_array(lower(coalesce(v_apart[2], v_apart[3])), '[^[:alnum:]]+');
    end if;
    v_read.gist := loci_internal.split_unspaced_words(p_text, v_read.gist);
    v_read.marks := loci_internal.signs_beside_words(p_text);
    v_read.names := loci_internal.stems_of_names(p_text);
    v_read.past := loci_internal.tells_past(v_read);
    v_read.speaker := loci_internal.speaker_of_fact(v_read);
    v_read.compound := loci_internal.says_several_things(p_text);
    if length(p_text) > 2000 then
        v_read.said := null;
    end if;
    return v_read;
end $$;
comment on function loci_internal.read_fact(text) is
    'A fact, read for comparison with others.';

-- The stems of a text; where no spaces stand between words (Japanese, Chinese, Thai), the pairs of characters of each
-- run instead. Pure.
create or replace function loci_internal.split_unspaced_words(p_text text, p_stems text[]) returns text[]
language plpgsql immutable parallel safe
as $$
declare
    v_dense constant text := '[\u3040-\u30FF\u3400-\u9FFF\u0E00-\u0E7F]{2}';
begin
    if p_text ~ v_dense then
        return array(
            select p.part from unnest(p_stems) with ordinality w(stem, place)
            cross join lateral (
                select case when w.stem ~ v_dense then substr(w.stem, g.i, 2) else w.stem end as part, g.i
                from generate_series(1, case when w.stem ~ v_dense then length(w.stem) - 1 else 1 end) g(i)) p
            order by w.place, p.i);
    end if;
    return p_stems;
end $$;
comment on function loci_internal.split_unspaced_words(text, text[]) is
    'Stems of a text, in pairs of characters where no spaces stand between words.';

-- Signs that change what a text says and are no words: C++, a question mark, a number below zero. A text that is read
-- in part only has its digest too, so that it is like no other. Pure.
create or replace function loci_internal.signs_beside_words(p_text text) returns text
language plpgsql immutable parallel safe
as $$
begin
    return regexp_replace(p_text,
                          '[[:alnum:][:space:].,;:!''"()\u2018\u2019\u201C\u201D\u3002\uFF01\uFF0C\u3001%-]',
                          '', 'g')
        || coalesce((select string_agg(m[1], ' ') from regexp_matches(left(p_text, 2000), '(?:^|[\s(])(-\d)', 'g') m),
                    '')
        || case when length(p_text) > 2000 then md5(p_text) else '' end;
end $$;
comment on function loci_internal.signs_beside_words(text) is
    'Signs that change what a text says and are no words.';

-- Stems of words with a capital, which may be names. The first word of a sentence has one whatever it is, so that one
-- counts if no list of words knows it. Pure.
create or replace function loci_internal.stems_of_names(p_text text) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return array(
        select s.stem
        from regexp_matches(left(p_text, 2000), '\m([[:upper:]][[:alnum:]]*)', 'g') with ordinality m(word, n)
        cross join lateral (select loci_internal.word_stem(lower(m.word[1])) as stem) s
        where m.word[1] <> 'I'
          and (n > 1 or p_text !~ '^[[:upper:]]'  -- a sentence begins with a capital, whatever its word
               or not (loci_internal.statement_lexicon() ?| array[s.stem, lower(m.word[1])]
                       or loci_internal.common_words() ?| array[s.stem, lower(m.word[1])])));
end $$;
comment on function loci_internal.stems_of_names(text) is 'Stems of words that may be names.';

-- Is a fact told as past? By a word of the lexicon, an auxiliary, or a verb in the past that is no passive (is based,
-- was named). Pure.
create or replace function loci_internal.tells_past(p_read loci_api.fact_reading) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_past    constant text
        := '^(\w{3,}ed|went|ran|wrote|made|took|gave|knew|bought|sold|ate|drove|led|met|kept|held|spoke|came|left|got|'
           'said|became)$';
    v_passive constant text[] := '{is,are,am,be,been,being,get,gets}';
begin
    return not ((p_read.said).past is null) or exists (
        select from (select u.word, lag(u.word) over w as before, lag(u.word, 2) over w as earlier
                     from unnest(p_read.spoken) with ordinality u(word, n) window w as (order by u.n)) v
        where v.word in ('was', 'were', 'had', 'did') or v.word ~ v_past
          and not coalesce(v.before = any (v_passive), false) and not coalesce(v.earlier = any (v_passive), false)
          and not (v.word in ('named', 'called') and p_read.spoken && '{have,has,is,are,am}'));
end $$;
comment on function loci_internal.tells_past(loci_api.fact_reading) is 'Whether a fact is told as past.';

-- Whom is a fact about, by its first word that says something: the one who speaks (i, we), somebody whom only the text
-- around it names (other: he, this, there), or what it names itself (named)? Pure.
create or replace function loci_internal.speaker_of_fact(p_read loci_api.fact_reading) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_first text := (array(
        select w.word from unnest(p_read.spoken) with ordinality w(word, place)
        where coalesce(loci_internal.statement_lexicon() ->> w.word, '') not in ('soft', 'now', 'also', 'fix')
          and w.word <> all ('{and,but,so,however,well,correction,update,note,yes,no,instead,ok,okay}')
        order by w.place limit 1))[1];
begin
    if v_first in ('in', 'on', 'at', 'for', 'with', 'to', 'from', 'by', 'during', 'before', 'after') then
        v_first := coalesce((array(select w.word from unnest(p_read.spoken) with ordinality w(word, place)
                                   where w.word in ('i', 'my', 'we', 'our', 'he', 'she', 'they', 'it')
                                   order by w.place limit 1))[1], v_first);
    end if;
    return case
        when v_first in ('i', 'my', 'me', 'mine') then 'i'
        when v_first in ('we', 'our', 'us', 'ours') then 'we'
        when v_first is null or v_first = any ('{he,she,they,it,this,that,these,those,his,her,their,its,him,them,'
                                               'there,here,who,which,you,your}') then 'other'
        when (p_read.said).relation is not null and (p_read.said).subject is null
             and (p_read.said).sequence[1] = loci_internal.word_stem(v_first)
             and loci_internal.statement_lexicon() ->> (p_read.said).sequence[1] is distinct from 'role' then 'other'
        else 'named' end;
end $$;
comment on function loci_internal.speaker_of_fact(loci_api.fact_reading) is
    'Whom a fact is about: i, we, other (only the text around says), or named.';

-- Does a text say several things: two sentences, or clauses that a conjunction joins? A text that is too long to read
-- counts too. Pure, inlines.
create or replace function loci_internal.says_several_things(p_text text) returns boolean
language sql immutable parallel safe
as $$
    select length(p_text) > 2000
        or regexp_replace(left(p_text, 2000), '\m(dr|mr|mrs|ms|prof|st|inc|ltd|e\.g|i\.e|vs|no)\.', '\1', 'gi')
           ~* '\m(and|but|while|whereas|although|though|or|und|aber|sondern|während|oder)\M'
              '|[.!?;]["''\u201D\u2019)]*\s+\S|[\u3002\uFF01\uFF1F]\s*[[:alnum:]]|\n\s*\S'
$$;
comment on function loci_internal.says_several_things(text) is 'Whether a text says several things.';
