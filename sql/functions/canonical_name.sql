-- The form under which a name is unique, and in which texts are searched for it (seed D, rows G1, G5 and S1): lower-cased, white
-- space folded, composed (NFC), with apostrophes, quotes and dashes of a keyboard. See fold_characters. Pure, inlines.
create or replace function loci.canonical_name(p_name text) returns text
language sql immutable parallel safe
as $$
    select btrim(regexp_replace(loci.fold_characters(p_name), '  +', ' ', 'g'))
$$;
comment on function loci.canonical_name(text) is 'Name lower-cased and composed (NFC), with white space folded to single spaces, and plain apostrophes, quotes and dashes.';
