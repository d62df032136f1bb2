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
    v_aside  constant text := 'that|this|it|is|was|my|i|a|am|me|let|on|to|so|the|bad|oh|well|das|es|ist|war|ein|ich|'
                              'moment|ach|halt';
    v_firm   constant text  -- words that take back what was said, before a comma; and those that may
        := 'no|nope|nein|not right|correct|correction|mistake|wrong|misspoke|mean|meant|scratch|strike|rather|'
           'meinte|meine|korrektur|berichtigung|quatsch|falsch|fehler|stimmt nicht|vielmehr';
    v_errs   constant text := v_firm || '|sorry|oops|whoops|ups|wait|hang on|hold on|actually|apologies|pardon|'
                                        'entschuldigung|verzeihung';
    v_opening text;
    v_text   text := loci_internal.plain_text(p_text);
    v_number record;
    v_phrase text;
begin
    v_text := regexp_replace(v_text, '^(.{0,25}\m(?:' || v_errs || '))[.!] +', '\1, ', 'i');
    v_text := regexp_replace(v_text, '(?<=[[:alnum:],] )A(?=\M(?! [[:lower:]]| $))', 'letter_a', 'g');  -- building A
    if translate(v_text, '123456789', '000000000')  -- numbers in one form; dates and times stay as written
       like any (array['%0.0%', '%0,0%', '%0''0%', '%0 \%%', '%0 percent%']) then
        for v_number in select n.place, n.spelled, n.form from loci_internal.find_numbers(v_text) n
                        where n.form ~ '^-?\d+(\.\d+)?[^\d.:/-]*$' order by n.place desc loop
            v_text := overlay(v_text placing case when right(v_number.form, 1) = '%' then v_number.form
                else regexp_replace(v_number.spelled, '\d+(?:[.,'']\d+)*', substring(v_number.form, '\d+(?:\.\d+)?'))
                    end
                from v_number.place + 1 for length(v_number.spelled));
        end loop;
    end if;
    v_text := replace(loci.fold_characters(v_text), '`', '''');
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
    v_opening := substring(
        v_text, '^((?:(?=(?: (?:' || v_aside || '|[,:]))* (?:' || v_errs || ') )(?:(?: (?:' || v_aside || '|' || v_errs
                || '))+ [,:])+|(?: (?:oh|well|ach))?(?= (?:actually|i meant|ich meinte) (?![,:])))'
                || '(?: (?:actually|i meant?(?: to say)?(?: that)?|ich meinte?))? )');
    if v_opening ~ ('\m(' || v_errs || ')\M') then
        v_text := case when v_opening ~ ('\m(' || v_firm || ')\M') then ' to_correct ' else ' may_correct ' end
                  || substr(v_text, length(v_opening) + 1);
    end if;
    v_text := loci_internal.read_german(replace(v_text, ' quite ', ' really '));  -- its stem is that of quit
    if v_text !~ ' (not|no|never|hardly|without) ' then  -- who did not stop still does it
        v_text := regexp_replace(v_text, ' (?:quit|quits|stop|stops|stopped|(?:give|gives|gave|given) up) (?=\S+ing )',
                                 ' no_longer ');
    end if;
    v_text := regexp_replace(v_text, ' on port (?=\d)', ' on_port ', 'g');
    foreach v_phrase in array array['is used to', 'are used to', 'was used to', 'were used to', 'get used to',
                                    'gets used to', 'got used to',
        'not only', 'not just', 'not to mention', 'no doubt', 'no later than', 'no earlier than', 'whether or not',
        'nothing but', 'if not'] loop
        v_text := replace(v_text, ' ' || v_phrase || ' ', ' is_used_to ');  -- no marker of the past, no negation
    end loop;
    foreach v_phrase in array array['no longer', 'no more', 'used to', 'any more', 'in the past', 'back then',
                                    'as a child', 'as a kid', 'as a boy',
        'as a girl', 'as a teenager', 'as a student', 'these days', 'at present', 'at the moment', 'right now',
        'as of now', 'as well', 'in addition',
        'at all', 'wants to', 'want to', 'wanted to', 'plans to', 'plan to', 'planned to', 'planning to', 'hopes to',
        'hope to', 'intends to',
        'intend to', 'would like', 'going to', 'about to', 'has to', 'have to', 'had to',
        'thinking about', 'thinking of', 'wishes to', 'expects to', 'tries to',
        'trying to', 'due to',
        'so that', 'as of', 'in order', 'thanks to', 'set to', 'equal to', 'amounts to'] loop
        v_text := replace(v_text, ' ' || v_phrase || ' ', ' ' || replace(v_phrase, ' ', '_') || ' ');
    end loop;
    return loci_internal.fold_numbers(string_to_array(btrim(v_text), ' '));
end $$;
comment on function loci_internal.statement_words(text) is
    'Words of a statement in order, folded.';

-- The same quantity, the same words: number words (number_words) become digits, and a number with a unit of time, size
-- or count is told in seconds, bytes or ones ("2 hours" and "120 min" are 7200 s). Other words pass. Pure.
create or replace function loci_internal.fold_numbers(p_words text[]) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    with word as (
        select w.place, coalesce(loci_internal.number_words() ->> w.word,
                                 '{"zero": "0", "one": "1", "dozen": "12"}'::jsonb ->> w.word, w.word) as word
        from unnest(p_words) with ordinality w(word, place)
    ), paired as (
        select w.place, w.word, w.word ~ '^\d{1,15}(\.\d{1,9})?$' as number,
               '{"ms": [0.001, "s"], "millisecond": [0.001, "s"], "milliseconds": [0.001, "s"], "s": [1, "s"], "sec": '
               '[1, "s"], "second": [1, "s"],
                 "seconds": [1, "s"], "min": [60, "s"], "minute": [60, "s"], "minutes": [60, "s"], "h": [3600, "s"],
                 "hour": [3600, "s"],
                 "hours": [3600, "s"], "kb": [1000, "byte"], "mb": [1000000, "byte"], "gb": [1000000000, "byte"],
                 "tb": [1000000000000, "byte"],
                 "k": [1000, null], "thousand": [1000, null], "million": [1000000, null], "billion": [1000000000,
                 null]}'::jsonb
                   -> lead(w.word) over (order by w.place) as unit
        from word w
    ), folded as (
        select p.place, case when p.number and p.unit is not null
            then trim_scale(p.word::numeric * (p.unit ->> 0)::numeric)::text else p.word end as word,
               case when p.number then p.unit end as unit, lag(case when p.number then p.unit end)
                   over (order by p.place) as unit_before
        from paired p
    )
    select coalesce(array_agg(coalesce(f.unit_before ->> 1, f.word) order by f.place), '{}')
    from folded f where f.unit_before is null or f.unit_before ->> 1 is not null);
end $$;
comment on function loci_internal.fold_numbers(text[]) is
    'Number words as digits, and quantities in seconds, bytes or ones.';
