-- The part of a text that a parser of words can read: without the scripts that ngrams cuts, and with full-width letters and digits as those
-- of a keyboard (NFKC). Any other text as it is. Pure, inlines. Called by document_terms.
create or replace function loci.spaced_text(p_text text) returns text
language sql immutable parallel safe
return case
    when octet_length(p_text) = length(p_text) then p_text
    when p_text ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\uFF01-\uFF9F\U00020000-\U0003FFFF]'
    then regexp_replace(normalize(p_text, nfkc),
        '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF]+',
        ' ', 'g')
    else p_text end;
comment on function loci.spaced_text(text) is 'A text without the scripts that have no spaces between words.';
