-- Which numbers does a text account for, if its numbers are these (forms of find_numbers)? A date also its day, month and year; any number its
-- digits; one, zero and hundred are no number where they stand, but "1" may come from "a dog". Pure.
create or replace function loci.implied_numbers(p_text text, p_forms text[]) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(distinct i.form), '{}')
    from (select f.form from unnest(p_forms) f(form)
          union all
          select m[1] from regexp_matches(p_text, '(\d+(?:\.\d+)*)', 'g') m
          union all
          select p.part from unnest(p_forms) f(form)
          cross join lateral (select regexp_match(f.form, '^(?:(\d{4})|-)-(\d\d)(?:-(\d\d))?$') as part) d
          cross join lateral (values (d.part[1]), (d.part[2]::integer::text), (d.part[3]::integer::text), (d.part[1] || '-' || d.part[2]),
                                     ('--' || d.part[2] || '-' || d.part[3])) p(part)
          union all
          select m[1] from unnest(p_forms) f(form) cross join lateral regexp_matches(f.form, '(\d+(?:\.\d+)*)', 'g') m where f.form not like '--%'
          union all
          select w.value from jsonb_each_text('{"one": "1", "a": "1", "an": "1", "eins": "1", "ein": "1", "eine": "1", "einen": "1", "einem": "1", "einer": "1",
              "eines": "1", "zero": "0", "null": "0", "dozen": "12", "hundred": "100"}') w(word, value)
          where w.word = any (regexp_split_to_array(lower(p_text), '[^[:alpha:]]+'))) i
    where i.form is not null
$$;
comment on function loci.implied_numbers(text, text[]) is 'Numbers that a text with these numbers accounts for. Internal.';
