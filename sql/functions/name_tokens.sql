-- Where does each word and each punctuation mark of a text stand? Runs of letters, digits and combining marks are one token;
-- every other character is one by itself, and so is every character of the scripts that put no space between words
-- (Thai, Chinese, Japanese). A name found on token limits is thereby a whole word on each side where it ends in a letter or
-- digit, and needs no boundary elsewhere (row G5). Linear in the text. Called by index_entity_names and find_entities.
create or replace function loci.name_tokens(p_text text)
returns table ("position" integer, token text, glued boolean)
language sql immutable parallel safe rows 50
as $$
    select t.start, t.piece, t.glued
    from (
        select (sum(length(p.piece)) over before)::integer + 1 - length(p.piece) as start, p.piece,
               coalesce(lag(p.piece) over before !~ '^\s', true) as glued
        from (select (regexp_matches(p_text, '\s+|[\u0E00-\u0E7F\u3040-\u30FF\u3400-\u9FFF\uF900-\uFAFF]'
                  '|(?:(?![\u0E00-\u0E7F\u3040-\u30FF\u3400-\u9FFF\uF900-\uFAFF])[[:alnum:]\u0300-\u036F])+|.', 'g'))[1] as piece) p
        window before as (rows unbounded preceding)
    ) t
    where t.piece !~ '^\s'
$$;
comment on function loci.name_tokens(text) is 'Tokens of a text and where each starts (character, from 1); glued: no white space before it.';
