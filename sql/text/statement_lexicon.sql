-- Lexicon of statements: words for relations, values and times.

-- Which words of a statement do something else than name its topic? Word or stem (Snowball English) → class, as one
-- JSON object:
--   article, stop  structure; neg turns the statement round; soft changes nothing that matters here
--   past, until    it was so and is over; then: it was so at a time, and may still be; fix: this corrects what was
--            said; now: it is so from now on; also: beside what was so; mood: it may be, will be, is
--            wished
--   tail           what follows is a reason or a date, not the statement
--   be, fn, count  predicates: copulas; verbs that have one object at a time (with their preposition); verbs that
--            count something
--   change         verbs that say a value was replaced (with their preposition)
--   cumul          verbs whose objects add up: a new one ends none
--   role           nouns that have one value at a time; day, month, color, state, level: words that exclude each
--            other
-- English alone: a word of another language is part of the topic. Constant: folded once a plan.
create or replace function loci_internal.statement_lexicon() returns jsonb
language sql immutable parallel safe
as $$
    select loci_internal.words_of_structure() || loci_internal.words_of_predicates()
$$;
comment on function loci_internal.statement_lexicon() is
    'Words that do not name a statement''s topic, and predicates and nouns with one value: word or stem → class.';

-- Words that structure a statement or turn it round: the classes article to tail of statement_lexicon. Constant.
create or replace function loci_internal.words_of_structure() returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_object_agg(w.word, l.class)
    from (values
        ('article', 'a an the'),
        ('stop', 'of to in on at by for with from as and or but that this these those it its his her their my our '
                 'your he she they we you i who which there here has have had having do does did doing done into '
                 'onto about than then so out per via when where while is_used_to mr mrs dr on_port'),
        ('soft', 'always usually often really very still already again generally mainly mostly typically definitely '
                 'strictly completely fully totally truly certainly actually simply just any some anymore any_more '
                 'even roughly approximately around ever much many can also_known at_all turned turn switched_on'),
        ('neg', 'not no never without nor neither none nobody nothing nowhere cannot no_longer no_more hardly'),
        ('past', 'used_to formerly previously in_the_past'),
        ('then', 'back_then as_a_child as_a_kid as_a_boy as_a_girl as_a_teenager as_a_student once_upon'),
        ('fix', 'to_correct may_correct'),
        ('until', 'until till'),
        ('now', 'now currently nowadays presently these_days at_present at_the_moment right_now as_of_now'),
        ('also', 'also too additionally another besides as_well both in_addition likewise additional moreover '
                 'furthermore along'),
        ('mood', 'may might could would should must shall will if unless perhaps maybe possibly probably '
                 'considering wants_to want_to wanted_to plans_to plan_to planned_to planning_to hopes_to hope_to '
                 'intends_to intend_to would_like going_to about_to has_to have_to had_to thinks_about '
                 'thinking_about thinking_of wishes_to expects_to considers tries_to trying_to'),
        ('tail', 'because since due_to so_that as_of starting effective in_order thanks_to'),
        ('comma', ', ;')
    ) l(class, words)
    cross join lateral unnest(string_to_array(l.words, ' ')) w(word)
$$;
comment on function loci_internal.words_of_structure() is
    'Words that structure a statement or turn it round: word → class.';

-- Words that say what is stated: predicates, and nouns and adjectives that exclude each other. Constant.
create or replace function loci_internal.words_of_predicates() returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_object_agg(w.word, l.class)
    from (values
        ('be', 'is are was were be been being am equals = : set_to equal_to remains amounts_to become becomes became'),
        ('fn', 'live_in live_at resid_in resid_at work_at work_for employ_by employ_at born_in born_on born_at '
               'die_in die_on cost weigh measur report_to belong_to locat_in locat_at situat_in base_in base_at '
               'headquart_in manag_by own_by led_by lead_by run_by chair_by direct_by marri_to engag_to named '
               'called titled expir_on expir_in expir_at start_at start_on end_at end_on open_at close_at depart_at '
               'leav_at arriv_at begin_at begin_on due_on due_by rent_for assign_to stand_at amount_to '
               'listen_on_port run_on_port serv_on_port answer_on_port reachabl_on_port'),
        ('count', 'own contain count take last hold employ compris'),
        ('change', 'move_to switch_to chang_to renam_to increas_to rais_to lower_to reduc_to extend_to postpon_to '
                   'push_to migrat_to transfer_to upgrad_to reloc_to relocat_to reschedul_to shorten_to bump_to '
                   'drop_to rose_to fell_to grow_to rise_to cut_to move_from switch_from chang_from migrat_from '
                   'renam_from increas_from rais_from lower_from reduc_from replac_by replac_with delay_to move_back'),
        ('cumul', 'like love enjoy know speak own support visit collect read learn accept offer includ allow '
                  'contain cover provid admir understand tri meet'),
        ('role', 'favorit favourit name email e-mail mail phone address owner lead leader manag boss ceo cto cfo '
                 'coo chair head presid capit status state stage phase prioriti role titl job deadlin due birthday '
                 'birthplac version releas port host hostnam url uri domain region zone timezon currenc budget '
                 'price fee rent salari wage size height weight age color colour locat headquart hq default primari '
                 'main current prefer spous wife husband partner employ provid plan tier limit timeout threshold '
                 'interv frequenc durat lifetim level mode format encod licens licenc type nation gender branch '
                 'password pin rate dose dosag temperatur speed capac quota balanc total revenu author maintain '
                 'mother father path schedul rank score grade rating maximum minimum max min ttl retent window sla '
                 'replica timestamp id number code languag theme diagnosi'),
        ('day', 'monday tuesday wednesday thursday friday saturday sunday'),
        ('month', 'januari februari march april month_may june juli august septemb octob novemb decemb'),
        ('color', 'red green blue yellow black white orang purpl brown pink gray grey'),
        ('state', 'pend ship deliv draft publish archiv block todo approv cancel canceled cancelled complet postpon'),
        ('level', 'low medium high critic')
    ) l(class, words)
    cross join lateral unnest(string_to_array(l.words, ' ')) w(word)
$$;
comment on function loci_internal.words_of_predicates() is
    'Predicates, and nouns that have one value at a time: word or stem → class.';
