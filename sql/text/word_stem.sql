-- What do the inflected forms of a word have in common? Its stem (Snowball English), after the irregular forms that it
-- does not know. A word that it would drop is its own stem. Inlines.
create or replace function loci_internal.word_stem(p_word text) returns text
language sql immutable parallel safe
as $$
    select coalesce((ts_lexize('pg_catalog.english_stem', w.word))[1], w.word)
    from (select coalesce('{"taught": "teach", "bought": "buy", "wrote": "write", "written": "write", "drove": '
                          '"drive", "driven": "drive",
              "ate": "eat", "eaten": "eat", "went": "go", "goes": "go", "gone": "go", "ran": "run", "spoke": "speak",
              "spoken": "speak",
              "drank": "drink", "slept": "sleep", "sold": "sell", "built": "build", "kept": "keep", "held": "hold",
              "led": "lead",
              "met": "meet", "swam": "swim", "sang": "sing", "wore": "wear", "made": "make", "grew": "grow",
              "grown": "grow",
              "knew": "know", "took": "take", "gave": "give", "began": "begin", "chose": "choose", "children": "child",
              "men": "man",
              "women": "woman", "people": "person", "died": "die", "dies": "die", "dying": "die", "lies": "lie",
              "smoker": "smoke",
              "rose": "rise", "fallen": "fall"}'::jsonb ->> p_word, p_word) as word) w
$$;
comment on function loci_internal.word_stem(text) is
    'Stem of a lower-case English word.';
