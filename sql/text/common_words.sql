-- Common words, which say little about a text.

-- Which words say nothing of whom or of what a text speaks, in English and German? One of
--   neg      what denies, in German; the English ones are in statement_lexicon
--   stop     little words, wherever they stand: those that Postgres knows are not repeated here, nor those that turn
--            or soften a statement
--   (statement_lexicon)
--   opening  words that sentences of memories begin with, by their stem: a capital there makes no name of them
-- "May" and "will" are little words, and names where they have a capital inside a sentence. Constant: folded once a
-- plan (2 ms).
create or replace function loci_internal.common_words() returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_object_agg(c.word, c.class)
    from (select distinct on (w.word) w.word, l.class
          from (values
              ('neg', 'nicht nie niemals niemand nichts kein keine keinen keinem keiner keines ohne weder'),
              ('stop', 'almost already although always among ans anyone anything aren around behind beim beyond ca '
                       'couldn dass didn doesn done either else even ever every everyone everything except gestern '
                       'hadn hasn haven heute however inside instead isn least less like many mine morgen much near '
                       'often ok okay one onto others outside per please quite rather really schon seit several '
                       'shouldn since someone something sometimes soon still therefore though throughout till '
                       'toward towards twice unsere unserem unseren unserer upon us usually via wasn well weren '
                       'whether whose within wo won wouldn wurde yes yet'),
              ('opening', 'accept access account act activate add address adjust admin agent agree alert allow '
                          'answer apologize appear apply appointment appreciate approach approve archive arrange '
                          'arrive article ask assign assistant assume attach attempt attend author avoid back '
                          'backup base become begin believe belong best better big birthday block blog book bot '
                          'branch break bring browser budget bug build busy button buy cache calendar call cancel '
                          'car care carry case cat category cause certain change channel charge chart chat cheap '
                          'check child choose class clean clear click client close cloud code coffee colleague '
                          'collect color colour column come command comment commit common communicate company '
                          'compare complain complete computer conclude condition config configure confirm connect '
                          'consider contact contain content context continue contract convert cook copy correct '
                          'cost count country course cover crash create current customer daily dark data database '
                          'date day deadline deal debug decide decision declare decline default define delay delete '
                          'deliver depend deploy describe description design desktop detail develop device diet '
                          'different dinner directory disable discover discuss dislike display document dog domain '
                          'download draft drink drive drop due duplicate earlier early eat edit editor email employ '
                          'employee empty enable end engineer enjoy ensure enter environment error escalate event '
                          'exact example excited exclude exist expect expensive experience explain export express '
                          'extend external fact fail failure false family favorite favourite feature feedback feel '
                          'fetch field file filter final find fine finish first fix flag flight focus folder follow '
                          'food force forget form format found free frequent friend frontend function future game '
                          'general generate get give go goal good great group grow guest guide half hand handle '
                          'happen happy hard hate head health hear height help hide high hire hold holiday home '
                          'host hotel hour house ignore image implement import improve include increase index '
                          'inform initial input insist install instance instruct integrate intend interested '
                          'internal interview invite invoice involve issue item job join journal keep key kind know '
                          'knowledge label language large last late later latest launch lead learn leave left '
                          'length let level library life light limit line link list listen live load local location '
                          'lock log login long look lose lot love low lunch machine mail main maintain make male '
                          'manage map market married match mean measure meet member memory mention menu merge '
                          'message method migrate minute miss mobile mode model modify moment money monitor month '
                          'morning mother move movie music need negotiate network new next nice night normal note '
                          'notice notification number object observe offer office old open operate option order '
                          'organize original outdated output owner package page parent part partner party pass '
                          'password past patch pay payment pending people perform permission pet phone photo pick '
                          'place plan play point policy port position possible post practice prefer prepare present '
                          'preview previous price primary print prior priority privacy private problem process '
                          'produce product profile program project promise prompt propose protect provide public '
                          'publish pull purchase push put quality query question queue quick quiet quit raise rate '
                          'reach read ready real reason receive recent recommend record reduce refactor refer '
                          'refund refuse region register regular reject relate release reload rely remain remember '
                          'remind remote remove rename rent repeat replace reply report repository request require '
                          'research reserve reset resolve respond response rest restart restore result retire retry '
                          'return review right role rollback room rotate row rule run safe salary sale save saw say '
                          'schedule school score screen script search seat second secret section security see seem '
                          'select self sell send sensitive sent separate server service session set setup share '
                          'shift ship shop short show sign simple single sister sit site size skip sleep slow small '
                          'software solution solve son sort source speak special specific specify speed spend split '
                          'staff stage stand standard start state status stay step stop storage store strict strong '
                          'student study subject submit subscribe success suggest summarize summary supply support '
                          'suppose sure suspect switch sync system table take talk target task teach tell temporary '
                          'tend term test text thank theme thing think thread ticket time timeout title today token '
                          'tomorrow tonight tool top topic total track trade train transfer translate travel treat '
                          'tree trigger trip true trust try turn type uncle understand unit unknown unresolved '
                          'update upgrade upload urgent use user vacation valid value variable vegan vegetarian '
                          'vehicle verify version view visit wait wake walk want warn watch way wear weather web '
                          'website week weekend weigh weight wife win window wish woman wonder word work worker '
                          'workflow workspace worry write wrong year yesterday young'),
              ('opening', 'abend adresse alle alt arbeitet aufgabe beide benutzer benutzt besprechung bevorzugt '
                          'bitte braucht danke darf datum fehler fragt gern glaubt hasst hat immer isst jahr kunde '
                          'kundin lebt leute lieber liebt mag manchmal monat möchte nacht name neu neue neuer nie '
                          'niemals nummer nutzer nutzerin nutzt oft plant projekt sagt selten soll tag team termin '
                          'treffen trinkt uhrzeit verwendet viel war weiß wenig woche wohnt zeit')
          ) l(class, words)
          cross join lateral (select case l.class when 'opening' then loci_internal.word_stem(u.word)
                              else u.word end as word
                              from unnest(string_to_array(l.words, ' ')) u(word)) w
          order by w.word, array_position('{neg,stop,opening}'::text[], l.class)) c
$$;
comment on function loci_internal.common_words() is
    'Words that name nothing, beside those that Postgres knows: word → neg or stop, stem → opening.';
