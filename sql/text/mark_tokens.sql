-- A folded text with the character 1 between its tokens. A run of letters, digits and combining marks is one token;
-- every other character is one by itself, and so is every character of the scripts that put no space between words
-- (Thai, Lao, Burmese, Khmer, Chinese, Japanese) or glue particles to names (Korean). A name found on token limits is
-- thereby a whole word on each side where it ends in a letter or digit, and needs no boundary elsewhere. The space
-- before a token is part of its piece; further spaces stand as character 2. So the pieces are the text. Linear, all in
-- C. Pure, inlines.
create or replace function loci_internal.mark_tokens(p_folded text) returns text
language sql immutable parallel safe
return replace(replace(replace(replace(replace(
    regexp_replace(p_folded,
        '([^[:alnum:] '
        '\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u0610-\u061A\u064B-\u065F\u0670\u06D6-\u06ED\u0900-\u0963\u0966-'
        '\u0DFF\u1AB0-\u1AFF\u1DC0-\u1DFF\u200C\u200D\uFE20-\uFE2F]'
        '|[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3'
        '\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF])',
        E'\x01\\1\x01', 'g'),
    '  ', E' \x02'), E'\x02 ', E'\x02\x02'), ' ', E'\x01 '), E'\x01 \x01', E'\x01 '), E'\x02\x01', E'\x02');
comment on function loci_internal.mark_tokens(text) is
    'A folded text with character 1 between its tokens, and character 2 for spaces that follow a space.';
