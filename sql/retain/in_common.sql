-- Which words of a fact name what it is about, or what is said of it? Its stems in order, without verbs that the
-- lexicon knows, words that structure a sentence, and numbers. Pure; about 0.1 ms.
create or replace function loci_internal.naming_words(p_read loci_api.fact_reading) returns text[]
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    return array(
        select w.stem from unnest(p_read.gist) with ordinality w(stem, place)
        where length(w.stem) > 1 and w.stem !~ '^[0-9]'
          and coalesce(loci_internal.statement_lexicon() ->> w.stem, 'role') = 'role'
          and coalesce(loci_internal.common_words() ->> w.stem, '') not in ('stop', 'neg')
          and numnode(plainto_tsquery('pg_catalog.english', w.stem)) > 0
        order by w.place);
end $$;
comment on function loci_internal.naming_words(loci_api.fact_reading) is
    'Stems of a fact that name something, in order.';

-- What do two facts that may be about the same have in common? subject: both are of the same entity, or in the first
-- person, or one begins with a word that the other has; words: they share one elsewhere; null: nothing. The standings
-- are those of fact_standing, the words those of naming_words. Pure, inlines.
create or replace function loci_internal.in_common(p_one jsonb, p_other jsonb, p_words text[], p_other_words text[])
returns text
language sql immutable parallel safe
return case when p_one ->> 'subject' = p_other ->> 'subject'
                 or 'true' = all (array[p_one ->> 'first', p_other ->> 'first'])
                 or p_words[1] = any (p_other_words) or p_other_words[1] = any (p_words) then 'subject'
            when p_words && p_other_words then 'words' end;
comment on function loci_internal.in_common(jsonb, jsonb, text[], text[]) is
    'Common ground of two facts that may be about the same: subject, words, or nothing.';
