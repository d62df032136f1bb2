-- Irregular forms of English words, by the form that the stemmer takes for another word. A constant of the plan.
create or replace function loci_internal.irregular_forms() returns jsonb
language sql immutable parallel safe
as $$
    select '{"taught": "teach", "bought": "buy", "wrote": "write", "written": "write", "drove": "drive",
     "driven": "drive", "ate": "eat", "eaten": "eat", "went": "go", "goes": "go", "gone": "go", "ran": "run",
     "spoke": "speak", "spoken": "speak", "drank": "drink", "slept": "sleep", "sold": "sell", "built": "build",
     "kept": "keep", "held": "hold", "led": "lead", "met": "meet", "swam": "swim", "sang": "sing",
     "wore": "wear", "made": "make", "grew": "grow", "grown": "grow", "knew": "know", "took": "take",
     "gave": "give", "began": "begin", "chose": "choose", "children": "child", "men": "man", "women": "woman",
     "people": "person", "died": "die", "dies": "die", "dying": "die", "lies": "lie", "smoker": "smoke",
     "rose": "rise", "fallen": "fall"}'::jsonb
$$;
comment on function loci_internal.irregular_forms() is
    'Irregular forms of English words, each with the form that has its stem.';

-- What do the inflected forms of a word have in common? Its stem (Snowball English), after the irregular forms that it
-- does not know. A word that it would drop is its own stem. Inlines.
create or replace function loci_internal.word_stem(p_word text) returns text
language sql immutable parallel safe
return coalesce((ts_lexize('pg_catalog.english_stem', coalesce(loci_internal.irregular_forms() ->> p_word, p_word)))[1],
                loci_internal.irregular_forms() ->> p_word, p_word);
comment on function loci_internal.word_stem(text) is
    'Stem of a lower-case English word.';
