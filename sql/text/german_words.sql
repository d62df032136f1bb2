-- German words and irregular forms, by their stems.

-- The words of a German statement with those that build it (articles, prepositions, auxiliaries, verbs with one object,
-- nouns with one value, opposites) in English, so that one lexicon and one set of rules read both languages: "bob wohnt
-- nicht mehr in münchen" is "bob no longer lives in münchen". Subjects of a statement keep their words. Tokens are
-- lower-case, parted by single spaces. A text that has English words of structure, or no German ones, is left as it is.
-- Pure.
create or replace function loci_internal.read_german(p_words text) returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_map   constant jsonb := loci_internal.german_words();
    v_words text[] := string_to_array(btrim(p_words), ' ');
    v_text  text;
begin
    if v_words && '{the,of,and,is,are,has,does,do,not,with,his,her,their,my,our,it,she,he,we}'
       or not exists (select from unnest(v_words) w where v_map ? w
                      and w <> all ('{die,in,war,an,am,will,also,hat,um,im,bin,name,status,version,port,er,plant,man,'
                                    'optional,budget,limit}')) then
        return p_words;
    end if;
    v_text := ' ' || array_to_string(array(
        select coalesce(v_map ->> w, w) from unnest(v_words) with ordinality u(w, n) order by n), ' ') || ' ';
    v_text := regexp_replace(v_text, ' (?:is|am|are) (now )?to ((?:\S+ ){1,3}?)(?:um)?gezogen ', ' moved to \2');
    v_text := regexp_replace(v_text, ' (moved to (?:\S+ ){1,3}?)um ', ' \1');
    v_text := regexp_replace(v_text, ' was in ((?:\S+ ){1,3}?)geboren ', ' was born in \1');
    v_text := regexp_replace(v_text, ' (\S+) no ((?:\S+ ){1,2}?)mehr ', ' no_longer \1 \2');
    -- hat aufgehört, Golf zu spielen; hört auf zu rauchen; habe mit dem Rauchen aufgehört
    v_text := regexp_replace(v_text, ' (?:has|have|hört|höre) (?:aufgehört|on) (?:, )?((?:\S+ )*?)to (\S+)en ',
                             case when v_text ~ '^ i ' then ' no_longer \2e \1' else ' no_longer \2t \1' end);
    v_text := regexp_replace(v_text, ' (?:has|have) with the (\S+)en aufgehört ',
                             case when v_text ~ '^ i ' then ' no_longer \1e ' else ' no_longer \1t ' end);
    v_text := regexp_replace(v_text, ' no ', ' not ', 'g');
    v_text := regexp_replace(v_text, ' not mehr ', ' no_longer ', 'g');
    -- the adverb before the verb, which then stands beside its preposition
    return regexp_replace(v_text, ' (\S+) (no_longer|not|now|still|also) (?=(?:in|at|for|on|to|from) )', ' \2 \1 ');
end $$;
comment on function loci_internal.read_german(text) is
    'Words of a German statement, those that build it in English; other texts as they are.';

-- German words that build a statement → English ones. To teach Loci a word, add it. Constant: folded once a plan.
create or replace function loci_internal.german_words() returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_object_agg(w.word, l.english)
    from (values
        ('the', 'der die das den dem des ein eine einen einem einer eines'), ('i', 'ich'), ('we', 'wir'),
        ('he', 'er'), ('my', 'mein meine meinen meinem meiner'), ('our', 'unser unsere unseren unserem unserer'),
        ('his', 'sein seine seinen seinem seiner'), ('her', 'ihr ihre ihren ihrem ihrer'), ('in', 'im'),
        ('at', 'bei beim um'), ('on', 'am auf'), ('to', 'an nach zu zum zur'), ('for', 'für'), ('with', 'mit'),
        ('of', 'von vom'), ('from', 'aus'), ('about', 'über'), ('and', 'und'), ('or', 'oder'), ('but', 'aber'),
        ('since', 'seit'), ('because', 'weil'), ('if', 'wenn falls'), ('until', 'bis'), ('is', 'ist'),
        ('are', 'sind'), ('am', 'bin'), ('was', 'war wurde'), ('were', 'waren wurden'), ('has', 'hat'),
        ('have', 'haben habe'), ('had', 'hatte hatten'), ('not', 'nicht'), ('never', 'nie niemals'),
        ('no', 'kein keine keinen keinem keiner keines'), ('always', 'immer stets'),
        ('now', 'jetzt nun derzeit zurzeit momentan aktuell gegenwärtig inzwischen mittlerweile heutzutage'),
        ('formerly', 'früher ehemals vormals zuvor vorher'), ('still', 'noch weiterhin'),
        ('already', 'schon bereits'), ('really', 'wirklich tatsächlich'),
        ('also', 'auch außerdem zusätzlich ebenfalls'), ('wants_to', 'will möchte wollte plant'),
        ('might', 'könnte kann dürfte vielleicht'), ('should', 'soll sollte'), ('would', 'würde'),
        ('lives', 'wohnt lebt'), ('live', 'wohne lebe wohnen leben'), ('lived', 'wohnte lebte'),
        ('works', 'arbeitet'), ('work', 'arbeite arbeiten'), ('worked', 'arbeitete'), ('reports', 'berichtet'),
        ('moved', 'zog zogen'), ('costs', 'kostet'), ('weighs', 'wiegt'), ('begins', 'beginnt'), ('ends', 'endet'),
        ('amounts_to', 'beträgt'), ('runs', 'läuft'), ('listens', 'lauscht'), ('likes', 'mag'),
        ('loves', 'liebt liebe'), ('hates', 'hasst hasse'), ('trusts', 'vertraut vertraue'),
        ('distrusts', 'misstraut misstraue'), ('drives', 'fährt fahre'),
        ('speaks', 'spricht'), ('knows', 'kennt'), ('uses', 'nutzt verwendet benutzt'),
        ('use', 'nutzen verwenden benutzen nutze'), ('named', 'heißt'), ('belongs', 'gehört'),
        ('owner', 'besitzer besitzerin eigentümer eigentümerin'), ('boss', 'chef chefin'),
        ('lead', 'leiter leiterin'), ('deadline', 'frist'), ('phone', 'telefonnummer'),
        ('address', 'adresse anschrift'), ('price', 'preis'), ('rent', 'miete'), ('password', 'passwort kennwort'),
        ('capital', 'hauptstadt'), ('color', 'farbe lieblingsfarbe'), ('birthday', 'geburtstag'),
        ('salary', 'gehalt'), ('language', 'sprache'), ('release', 'veröffentlichung'), ('budget', 'budget'),
        ('limit', 'grenze'), ('age', 'alter'), ('weight', 'gewicht'), ('size', 'größe'), ('status', 'status'),
        ('version', 'version'), ('port', 'port'), ('name', 'name'), ('monday', 'montag montags'),
        ('tuesday', 'dienstag dienstags'), ('wednesday', 'mittwoch mittwochs'),
        ('thursday', 'donnerstag donnerstags'), ('friday', 'freitag freitags'), ('saturday', 'samstag samstags'),
        ('sunday', 'sonntag sonntags'), ('married', 'verheiratet'), ('divorced', 'geschieden'), ('single', 'ledig'),
        ('enabled', 'aktiviert eingeschaltet'), ('disabled', 'deaktiviert ausgeschaltet'), ('active', 'aktiv'),
        ('inactive', 'inaktiv'), ('allowed', 'erlaubt'), ('forbidden', 'verboten'), ('open', 'offen geöffnet'),
        ('closed', 'geschlossen'), ('paid', 'bezahlt'), ('unpaid', 'unbezahlt'), ('public', 'öffentlich'),
        ('private', 'privat'), ('required', 'erforderlich'), ('optional', 'optional')
    ) l(english, words)
    cross join lateral unnest(string_to_array(l.words, ' ')) w(word)
$$;
comment on function loci_internal.german_words() is
    'German words that build a statement, nouns with one value and opposites: word → English word.';

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
