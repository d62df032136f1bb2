-- A text in the characters by which names are compared, one for one after composition (NFC): lower-cased; white space and
-- controls of every kind are a space; typographic apostrophes, quotes, dashes and minus are those of a keyboard; a final sigma
-- is a sigma. ASCII takes the short way; the other needs a database in UTF-8. Pure, inlines. Called by canonical_name, name_phrases.
create or replace function loci.fold_characters(p_text text) returns text
language sql immutable parallel safe
as $$
    select case when octet_length(p_text) = length(p_text) then lower(regexp_replace(p_text, '[\u0001-\u001F\u007F]', ' ', 'g'))
                else loci.fold_unicode(p_text) end
$$;
comment on function loci.fold_characters(text) is 'Text lower-cased, with white space, apostrophes, quotes and dashes of all kinds as those of a keyboard; one character for each of its composed form (NFC).';
