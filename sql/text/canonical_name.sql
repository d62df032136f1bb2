-- The form under which a name is unique, and in which texts are searched for it: lower-cased, white space folded,
-- composed (NFC), with apostrophes, quotes and dashes of a keyboard. See fold_characters. Pure, inlines.
create or replace function loci.canonical_name(p_name text) returns text
language sql immutable parallel safe
as $$
    select btrim(regexp_replace(loci.fold_characters(p_name), '  +', ' ', 'g'))
$$;
comment on function loci.canonical_name(text) is
    'Name lower-cased and composed (NFC), with white space folded to single spaces, and plain apostrophes, quotes and '
    'dashes.';

-- A text in the characters by which names are compared, one for one after composition (NFC): lower-cased; white space
-- and controls of every kind are a space; typographic apostrophes, quotes, dashes and minus are those of a keyboard; a
-- final sigma is a sigma. ASCII takes the short way; the other needs a database in UTF-8. Pure, inlines.
create or replace function loci.fold_characters(p_text text) returns text
language sql immutable parallel safe
as $$
    select case when octet_length(p_text) = length(p_text)
        then lower(regexp_replace(p_text, '[\u0001-\u001F\u007F]', ' ', 'g'))
                else loci.fold_unicode(p_text) end
$$;
comment on function loci.fold_characters(text) is
    'Text lower-cased, with white space, apostrophes, quotes and dashes of all kinds as those of a keyboard; one '
    'character for each of its composed form (NFC).';

-- The part of fold_characters for texts beyond ASCII. The capital I with a dot becomes i, whatever the locale,
-- because lower() may make two characters of it. Pure, inlines.
create or replace function loci.fold_unicode(p_text text) returns text
language sql immutable parallel safe
return replace(lower(replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        case when p_text is nfc normalized then p_text else normalize(p_text, nfc) end,
        '[\u0001-\u001F\u007F-\u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u3000\uFEFF]', ' ', 'g'),
        '[\u02B9\u02BB\u02BC\u2018\u2019\u201B\u2032\uFF07]', '''', 'g'),
        '[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]', '-', 'g'),
        '[\u201C-\u201F\u2033\uFF02]', '"', 'g'),
    U&'\0130', 'i')), U&'\03C2', U&'\03C3');
comment on function loci.fold_unicode(text) is
    'The characters by which names are compared, for a text that is not ASCII; see fold_characters.';
