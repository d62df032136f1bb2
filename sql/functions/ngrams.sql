-- The terms that stand for words where a text has no spaces between them (Thai, Lao, Burmese, Khmer, Chinese, Japanese; and Korean); null
-- for any other text, at the cost of a look at its length. See cut_ngrams. Pure, inlines. Called by document_terms.
create or replace function loci.ngrams(p_text text) returns text[]
language sql immutable parallel safe
return case
    when octet_length(p_text) = length(p_text) then null
    when p_text ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005-\u3007\u3040-\u312F\u31F0-\u31FF\u3400-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF]'
    then loci.cut_ngrams(p_text) end;
comment on function loci.ngrams(text) is 'Terms of a text in scripts without spaces between words; null where it has none.';
