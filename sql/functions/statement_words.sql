-- The words of a statement in order, folded so that two ways to write the same thing are the same words: case and width, typographic
-- apostrophes, contractions (don't, can't, won't → not), possessives, thousands separators; numbers with their units in seconds, bytes
-- or ones; phrases that act as one word (no longer, used to) joined by an underscore. Whole words only, in any script that puts
-- spaces between them. Commas, colons and equals signs are words. Pure; about 60 µs. Called by read_statement; internal.
create or replace function loci.statement_words(p_text text) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_text   text := p_text;
    v_phrase text;
begin
    v_text := regexp_replace(v_text, '(?<=[[:alnum:],] )A(?=\M(?! [[:lower:]]| $))', 'letter_a', 'g');  -- building A
    v_text := translate(lower(normalize(v_text, NFKC)), '’‘ʼ`', '''''''''');
    v_text := regexp_replace(v_text, '(?<=\d),(?=\d{3}\M)', '', 'g');
    v_text := regexp_replace(replace(replace(replace(v_text, 'can''t', 'can not'), 'won''t', 'will not'), 'cannot', 'can not'), 'n''t\M', ' not', 'g');
    v_text := regexp_replace(v_text, '\mmay(?= \d)|(?<=(\d|in|of|on|since) )may\M', 'month_may', 'g');
    v_text := regexp_replace(v_text, '(?<=\d)(?=(ms|s|sec|min|h|kb|mb|gb|tb|k|mg|kg|km|cm|mm)\M)', ' ', 'g');
    v_text := ' ' || array_to_string(array(
        select m[1] from regexp_matches(v_text, '([[:alnum:]_\u0300-\u036F]+(?:[.:/@+-][[:alnum:]_\u0300-\u036F]+)*%?|''(?:s|re|ve|ll|d|m)\M|[,;:=])', 'g') m
        where m[1] not like '''%'), ' ') || ' ';
    foreach v_phrase in array array['is used to', 'are used to', 'was used to', 'were used to', 'get used to', 'gets used to', 'got used to',
        'not only', 'not just', 'not to mention', 'no doubt', 'no later than', 'no earlier than', 'whether or not', 'nothing but', 'if not'] loop
        v_text := replace(v_text, ' ' || v_phrase || ' ', ' is_used_to ');  -- no marker of the past, no negation
    end loop;
    foreach v_phrase in array array['no longer', 'no more', 'used to', 'any more', 'in the past', 'back then', 'as a child', 'as a kid', 'as a boy',
        'as a girl', 'as a teenager', 'as a student', 'these days', 'at present', 'at the moment', 'right now', 'as of now', 'as well', 'in addition',
        'at all', 'wants to', 'want to', 'wanted to', 'plans to', 'plan to', 'planned to', 'planning to', 'hopes to', 'hope to', 'intends to',
        'intend to', 'would like', 'going to', 'thinking about', 'thinking of', 'wishes to', 'expects to', 'tries to', 'trying to', 'due to',
        'so that', 'as of', 'in order', 'thanks to', 'set to', 'equal to', 'amounts to'] loop
        v_text := replace(v_text, ' ' || v_phrase || ' ', ' ' || replace(v_phrase, ' ', '_') || ' ');
    end loop;
    return loci.fold_numbers(string_to_array(btrim(v_text), ' '));
end $$;
comment on function loci.statement_words(text) is 'Words of a statement in order, folded. Internal.';
