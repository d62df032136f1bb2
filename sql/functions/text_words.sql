-- The words of a folded text, each once, with their stems (English, German) and what they are: neg (it denies), stop (a little word), opening (a word that
-- sentences begin with) or null. Where no spaces stand between words, pairs of characters are its words (ngrams), and their own stems.
-- A form of a word is found by either stem, whatever language a text is in. Pure; about 5 µs a word.
create or replace function loci.text_words(p_folded text) returns jsonb
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_terms text[] := loci.ngrams(p_folded);
    v_pairs text := array_to_string(array(select distinct t from unnest(v_terms) t where length(t) > 1), ' ');
begin
    return (
    select coalesce(jsonb_object_agg(w.word, jsonb_build_array(w.stem, w.german, w.class)), '{}')
    from (select u.word, s.stem, coalesce(d.german[1], u.word) as german,
                 case when loci.statement_lexicon() ->> u.word = 'neg' or loci.common_words() ->> u.word = 'neg' then 'neg'
                      when d.english = '{}' or d.german = '{}' or loci.statement_lexicon() ->> u.word in ('also', 'mood', 'now')
                           or loci.common_words() ->> u.word = 'stop' then 'stop'
                      when loci.common_words() ->> s.stem = 'opening' then 'opening' end as class
          from (select distinct m[1] as word from regexp_matches(loci.spaced_text(p_folded), '(\w+)', 'g') m) u
          cross join lateral (select ts_lexize('pg_catalog.english_stem', u.word) as english, ts_lexize('pg_catalog.german_stem', u.word) as german) d
          cross join lateral loci.word_stem(u.word) s(stem)
          union all
          select distinct t, t, t, null::text from unnest(v_terms) t where length(t) > 1 or strpos(v_pairs, t) = 0) w);
end $$;
comment on function loci.text_words(text) is 'Words of a folded text with stems and class. Internal.';
