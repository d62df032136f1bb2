-- Statements: subject, words and value.

-- What does a statement say, as far as words give it away? Its topic, polarity, mood and time, and subject, predicate
-- and value (see type loci_internal.statement). Shallow: no grammar, a lexicon of some hundred words and the order they
-- stand in. Words behind one like `since` or `because` are not the statement; words behind a comma are not its value.
-- Opposites in the subject (open issues) are part of the topic. Pure; about 0.2 ms.
create or replace function loci_internal.read_statement(p_text text) returns loci_internal.statement
language plpgsql immutable parallel safe set search_path = ''
set plan_cache_mode = force_generic_plan
as $$
declare
    v_read loci_internal.statement;
begin
    with word as materialized (
        select w.place, w.word, s.stem, w.word ~ '^[0-9]' as number, lead(w.word) over (order by w.place) as next
        from unnest(loci_internal.statement_words(p_text)) with ordinality w(word, place)
        cross join lateral loci_internal.word_stem(w.word) s(stem)
    ), classed as materialized (
        select w.*, case when w.word in ('has', 'have', 'had') and w.next ~ '^[0-9]' then 'count'
                         else coalesce(l.words ->> (w.stem || '_' || w.next), l.words ->> w.word,
                                       case when l.words ->> w.stem in ('fn', 'count', 'change', 'cumul', 'role',
                                                                        'day', 'month', 'color', 'state', 'level')
                                                                            then l.words ->> w.stem end) end as class,
               o.sides -> w.stem as sides
        from word w cross join (select loci_internal.statement_lexicon() as words) l
        cross join (select loci_internal.antonym_sides() as sides) o
    ), bounds as materialized (
        select coalesce(min(c.place) filter (where c.class in ('tail', 'until') and c.place > 2), 1000000) as tail,
               min(c.place) filter (where c.class = 'be') as be,
               min(c.place) filter (where c.class in ('fn', 'change') or c.class = 'count'
                                    and c.next ~ '^[0-9]') as verb
        from classed c
    ), predicate as materialized (
        select b.tail, p.place, c.class, c.stem, c.next,
               coalesce((select min(k.place) from classed k where k.class = 'comma' and k.place > p.place),
                        1000000) as comma
        from bounds b
        cross join lateral (select case when b.verb is null or b.be < b.verb and exists (
                select from classed m where m.place > b.be and m.place < b.verb and
                    coalesce(m.class, 'x') not in ('be', 'now', 'soft', 'neg', 'past', 'then', 'fix', 'stop'))
            then b.be else b.verb end as place) p
        left join classed c on c.place = p.place
    ), said as materialized (
        select c.*,
               (c.class is null or c.class in ('fn', 'count', 'change', 'cumul', 'role', 'day', 'month', 'color',
                                               'state', 'level'))
                    and c.place < p.tail as topical, p.place as at
        from classed c cross join predicate p
    )
    select array_agg(s.stem order by s.place)
        filter (where s.class is distinct from 'article' and s.class is distinct from 'comma'),
           array_agg(s.stem order by s.place) filter (where s.topical),
           array_agg(distinct s.stem) filter (where s.topical and not s.number),
           array_agg(s.word order by s.place) filter (where s.class = 'neg'),
           array_agg(s.word order by s.place)
        filter (where s.class in ('past', 'then') or s.class = 'until' and exists (
               select from said e where e.place < s.place and (e.word like '%ed' or e.word in ('was', 'were', 'had')))),
           array_agg(s.word order by s.place) filter (where s.class = 'now'),
           coalesce(bool_or(s.class = 'also'), false),  -- a class is null where the lexicon has no word
           array_agg(distinct s.word) filter (where s.class = 'mood'),
           (select array_agg(k.key order by k.key, e.place) from said e
            cross join lateral jsonb_array_elements_text(e.sides) k(key)
            where (e.at is null or e.place >= e.at or s0.verbal)),
           (select array_agg(e.stem order by k.key, e.place) from said e
            cross join lateral jsonb_array_elements_text(e.sides) k(key)
            where (e.at is null or e.place >= e.at or s0.verbal)),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place < p.place),
           max(case p.class when 'be' then 'be' || case
               when p.next in ('in', 'on', 'at', 'with', 'about', 'by', 'from', 'for', 'of') then ' ' || p.next
                   else '' end
                            else p.stem end),
           max(p.class),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place > p.place and s.place < p.comma),
           null, null,
           array_agg(s.word order by s.place) filter (where s.word ~ '^(19|20)\d\d$' and s.place > p.place + 2
                                                      and s.place < p.tail),
           coalesce(bool_or(s.class = 'role' and (p.place is null or s.place < p.place)), false),
           coalesce(bool_or(s.class = 'cumul'), false),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place > f.from_place
                                                      and s.place < f.to_place),
           jsonb_object_agg(s.stem, s.word) filter (where s.stem <> s.word),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place <= f.now_place)
    into v_read
    from said s cross join predicate p
    cross join (select coalesce(p.class, '') <> 'be' as verbal from predicate p) s0
    cross join (select min(c.place) filter (where c.word = 'from') as from_place,
                max(c.place) filter (where c.word in ('to', 'by', 'with')) as to_place,
                       (select min(v.place) from said v where v.topical
                        and v.place > min(c.place) filter (where c.class = 'now')) as now_place
                from classed c) f
    group by s0.verbal;
    return loci_internal.read_value(v_read);
end $$;
comment on function loci_internal.read_statement(text) is
    'A statement, read: topic, polarity, mood, time, subject, predicate and value.';

-- The second half of reading: what kind of value does a statement give? number (with its unit), or a class of words
-- that exclude each other (day, color, state, level), or word. Without a predicate, a noun that has one value and a
-- number at the end are one ("default port 8080"), if there is no word beside them ("listens on port 8080" is another
-- matter). Pure.
create or replace function loci_internal.read_value(p_statement loci_internal.statement) returns loci_internal.statement
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_lexicon jsonb := loci_internal.statement_lexicon();
    v_last    integer := cardinality(p_statement.sequence);
begin
    if p_statement.relation is null and v_last > 1 and p_statement.sequence[v_last] ~ '^[0-9]'
       and p_statement.words = p_statement.sequence and exists (
            select from unnest(p_statement.sequence) s where v_lexicon ->> s = 'role') then
        p_statement.relation := 'be';
        p_statement.predicate := 'be';
        p_statement.roles := true;
        p_statement.subject := p_statement.sequence[:v_last - 1];
        p_statement.value := p_statement.sequence[v_last:];
    end if;
    p_statement.kind := case when p_statement.value[1] ~ '^[0-9]'
        or v_lexicon ->> p_statement.value[1] = 'month' then 'number'
                             when v_lexicon ->> p_statement.value[1] in ('day', 'color', 'state', 'level')
                                 then v_lexicon ->> p_statement.value[1]
                             else 'word' end;
    p_statement.unit := case when p_statement.kind = 'number' and p_statement.value[2] !~ '^[0-9]'
        and v_lexicon ->> p_statement.value[2] is distinct from 'month'
                             then p_statement.value[2] end;
    return p_statement;
end $$;
comment on function loci_internal.read_value(loci_internal.statement) is
    'Kind and unit of a statement''s value.';

-- The words of a statement in order, folded so that two ways to write the same thing are the same words: case and
-- width, typographic apostrophes, contractions (don't, can't, won't → not), possessives; numbers in one form
-- (find_numbers) and with their units in seconds, bytes or ones (fold_numbers); phrases that act as one word (no
-- longer, used to) joined by an underscore. Whole words only, in any script that puts spaces between them. Commas,
-- colons and equals signs are words. To have stopped doing something is to do it no longer; words that open a
-- correction (no, I …; correction: …) are one word. German words of structure are read as English ones (read_german).
-- A date stays as it is written: 1984 and May 1984 are no two values of one birthday, and in one form they would look
-- like two. Pure; about 60 µs, with decimals or separators 350, dates 650.
create or replace function loci_internal.statement_words(p_text text) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_firm   constant text  -- words that take back what was said, before a comma; and those that may
        := 'no|nope|nein|not right|correct|correction|mistake|wrong|misspoke|mean|meant|scratch|strike|rather|'
           'meinte|meine|korrektur|berichtigung|quatsch|falsch|fehler|stimmt nicht|vielmehr';
    v_errs   constant text := v_firm || '|sorry|oops|whoops|ups|wait|hang on|hold on|actually|apologies|pardon|'
                                        'entschuldigung|verzeihung';
    v_text   text := loci_internal.plain_text(p_text);
begin
    v_text := regexp_replace(v_text, '^(.{0,25}\m(?:' || v_errs || '))[.!] +', '\1, ', 'i');
    v_text := regexp_replace(v_text, '(?<=[[:alnum:],] )A(?=\M(?! [[:lower:]]| $))', 'letter_a', 'g');  -- building A
    v_text := replace(loci.fold_characters(loci_internal.write_numbers_in_one_form(v_text)), '`', '''');
    v_text := regexp_replace(replace(replace(replace(v_text, 'can''t', 'can not'), 'won''t', 'will not'), 'cannot',
                                     'can not'), 'n''t\M', ' not', 'g');
    v_text := regexp_replace(v_text, '\mmay(?= \d)|(?<=(\d|in|of|on|since|until|till|from|by) )may\M', 'month_may',
                             'g');
    v_text := regexp_replace(v_text, '(?<=\d)(?=(ms|s|sec|min|h|kb|mb|gb|tb|k|mg|kg|km|cm|mm)\M)', ' ', 'g');
    v_text := ' ' || array_to_string(array(
        select m[1]
        from regexp_matches(v_text,
                            '([[:alnum:]_\u0300-\u036F]+(?:[.:/@+-][[:alnum:]_\u0300-\u036F]+)*%?|''(?:s|re|ve|ll|d|'
                            'm)\M|[,;:=])', 'g') m
        where m[1] not like '''%'), ' ') || ' ';
    v_text := loci_internal.mark_correction(v_text, v_errs, v_firm);
    v_text := loci_internal.read_german(replace(v_text, ' quite ', ' really '));  -- its stem is that of quit
    if v_text !~ ' (not|no|never|hardly|without) ' then  -- who did not stop still does it
        v_text := regexp_replace(v_text, ' (?:quit|quits|stop|stops|stopped|(?:give|gives|gave|given) up) (?=\S+ing )',
                                 ' no_longer ');
    end if;
    v_text := regexp_replace(v_text, ' on port (?=\d)', ' on_port ', 'g');
    return loci_internal.fold_numbers(string_to_array(btrim(loci_internal.join_phrases(v_text)), ' '));
end $$;
comment on function loci_internal.statement_words(text) is
    'Words of a statement in order, folded.';

-- A text whose decimals, separators and percents are in one form (find_numbers); dates and times stay as written. Pure.
create or replace function loci_internal.write_numbers_in_one_form(p_text text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_number record;
begin
    if translate(p_text, '123456789', '000000000')
       like any (array['%0.0%', '%0,0%', '%0''0%', '%0 \%%', '%0 percent%']) then
        for v_number in select n.place, n.spelled, n.form from loci_internal.find_numbers(p_text) n
                        where n.form ~ '^-?\d+(\.\d+)?[^\d.:/-]*$' order by n.place desc loop
            p_text := overlay(
                p_text placing case when right(v_number.form, 1) = '%' then v_number.form
                    else regexp_replace(v_number.spelled, '\d+(?:[.,'']\d+)*',
                                        substring(v_number.form, '\d+(?:\.\d+)?')) end
                from v_number.place + 1 for length(v_number.spelled));
        end loop;
    end if;
    return p_text;
end $$;
comment on function loci_internal.write_numbers_in_one_form(text) is 'A text with its numbers in one form.';

-- Words of a statement between spaces, where those that open a correction are one: to_correct, or may_correct if none
-- of them is firm. p_words, p_firm: alternatives of a pattern. Pure.
create or replace function loci_internal.mark_correction(p_text text, p_words text, p_firm text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_aside   constant text := 'that|this|it|is|was|my|i|a|am|me|let|on|to|so|the|bad|oh|well|das|es|ist|war|ein|ich|'
                               'moment|ach|halt';
    v_opening constant text := substring(
        p_text, '^((?:(?=(?: (?:' || v_aside || '|[,:]))* (?:' || p_words || ') )(?:(?: (?:' || v_aside || '|'
                || p_words || '))+ [,:])+|(?: (?:oh|well|ach))?(?= (?:actually|i meant|ich meinte) (?![,:])))'
                || '(?: (?:actually|i meant?(?: to say)?(?: that)?|ich meinte?))? )');
begin
    if v_opening ~ ('\m(' || p_words || ')\M') then
        return case when v_opening ~ ('\m(' || p_firm || ')\M') then ' to_correct ' else ' may_correct ' end
               || substr(p_text, length(v_opening) + 1);
    end if;
    return p_text;
end $$;
comment on function loci_internal.mark_correction(text, text, text) is
    'Words of a statement, where those that open a correction are one.';

-- Words of a statement between spaces, where phrases that act as one word are joined by underscores. Words that only
-- look like a marker of the past or a negation become one word of structure. Pure.
create or replace function loci_internal.join_phrases(p_text text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_phrase text;
begin
    foreach v_phrase in array array[
        'is used to', 'are used to', 'was used to', 'were used to', 'get used to', 'gets used to', 'got used to',
        'not only', 'not just', 'not to mention', 'no doubt', 'no later than', 'no earlier than', 'whether or not',
        'nothing but', 'if not'] loop
        p_text := replace(p_text, ' ' || v_phrase || ' ', ' is_used_to ');
    end loop;
    foreach v_phrase in array array[
        'no longer', 'no more', 'used to', 'any more', 'in the past', 'back then', 'as a child', 'as a kid', 'as a boy',
        'as a girl', 'as a teenager', 'as a student', 'these days', 'at present', 'at the moment', 'right now',
        'as of now', 'as well', 'in addition', 'at all', 'wants to', 'want to', 'wanted to', 'plans to', 'plan to',
        'planned to', 'planning to', 'hopes to', 'hope to', 'intends to', 'intend to', 'would like', 'going to',
        'about to', 'has to', 'have to', 'had to', 'thinking about', 'thinking of', 'wishes to', 'expects to',
        'tries to', 'trying to', 'due to', 'so that', 'as of', 'in order', 'thanks to', 'set to', 'equal to',
        'amounts to'] loop
        p_text := replace(p_text, ' ' || v_phrase || ' ', ' ' || replace(v_phrase, ' ', '_') || ' ');
    end loop;
    return p_text;
end $$;
comment on function loci_internal.join_phrases(text) is
    'Words of a statement, where phrases that act as one word are joined.';
