-- The terms of the part of a text that is in scripts without spaces between words, or with particles glued to them (Korean): each pair of
-- neighbours, each Chinese character by itself, and whatever stands alone between others. In the order of the text, with repetition.
-- Compatibility forms are folded (NFKC): half-width katakana are katakana. Linear. Pure. Called by ngrams.
create or replace function loci.cut_ngrams(p_text text) returns text[]
language sql immutable parallel safe
as $$
    select array_agg(g.term order by c.nth, length(g.term))
    from (select t.this, coalesce(lag(t.this) over (order by t.nth), ' ') as before, coalesce(lead(t.this) over (order by t.nth), ' ') as after, t.nth
          from unnest(string_to_array(regexp_replace(normalize(p_text, nfkc),
              '[^\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF]+',
              ' ', 'g'), null)) with ordinality t(this, nth)) c
    cross join lateral (
        select c.this || c.after as term where c.after <> ' '
        union all
        select c.this where c.this ~ '[\u3400-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]' or c.before = ' ' and c.after = ' ') g
    where c.this <> ' '
$$;
comment on function loci.cut_ngrams(text) is 'Pairs of characters, and single ones, of a text without spaces between words.';
