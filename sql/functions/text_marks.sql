-- What do readers of texts outside the database compare them by? For each text, in order:
--   name     what it is compared by if it is a name (canonical_name)
--   plain    the text with one form of every character (plain_text); folded is the same in lower case, character for character
--   numbers  its numbers, dates and times as [place in plain, as written, in one form], in order (find_numbers)
--   implied  numbers that it accounts for (implied_numbers)
--   words    its words as {word: [English stem, German stem, class]} (text_words)
-- So words are cut, folded and stemmed, and numbers read, by the functions that compare facts where they are written, and nowhere else.
-- Reads no data. About 0.3 ms for 25 characters, and in proportion.
create or replace function loci.text_marks(p_texts text[])
returns table (ordinal bigint, name text, plain text, folded text, numbers jsonb, implied text[], words jsonb)
language sql immutable parallel safe security definer set search_path = ''
as $$
    select t.nth, loci.canonical_name(t.content), p.plain, f.folded, coalesce(n.numbers, '[]'), loci.implied_numbers(p.plain, n.forms), loci.text_words(f.folded)
    from unnest(p_texts) with ordinality t(content, nth)
    cross join lateral loci.plain_text(t.content) p(plain)
    cross join lateral loci.fold_characters(p.plain) f(folded)
    cross join lateral (select jsonb_agg(jsonb_build_array(r.place, r.spelled, r.form) order by r.place) as numbers, array_agg(r.form) as forms
                        from loci.find_numbers(p.plain) r) n
    order by t.nth
$$;
comment on function loci.text_marks(text[]) is 'Texts as guards read them: plain and folded, numbers, words with stems and class, in order.';
