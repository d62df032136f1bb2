-- A text with one form of every character in which texts are read (NFKC): digits, hyphens and apostrophes are those of a keyboard, and spaces stand
-- around what is in a script without spaces between words. Letters stay as they are: see fold_characters, which keeps every
-- character in its place. Pure; an ASCII text passes.
create or replace function loci.plain_text(p_text text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_text text;
begin
    if octet_length(p_text) = length(p_text) then
        return p_text;
    end if;
    v_text := translate(normalize(p_text, nfkc), loci.other_digits(), repeat('0123456789', 100));
    v_text := translate(v_text, U&'\2010\2011\2212\2019', '---''');
    return regexp_replace(v_text, '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3]+)', ' \1 ', 'g');
end $$;
comment on function loci.plain_text(text) is 'A text with one form of every character, for readers of numbers and marks. Internal.';
