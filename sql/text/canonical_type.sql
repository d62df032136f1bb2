-- A type of edges or entities in its one form: "Works On", "worksOn", "works-on" and "works_on" are works_on, and
-- "HTTPServer" is http_server. Composed (NFC), lower case; a new word begins with a capital behind a small letter, or
-- with the last of several; runs of white space, hyphens and underscores are one underscore, none at the ends. Pure,
-- inlines.
create or replace function loci.canonical_type(p_type text) returns text
language sql immutable parallel safe
as $$
    select btrim(lower(regexp_replace(regexp_replace(
        normalize(p_type, nfc), '([[:lower:]])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2_', 'g'),
        '[\s_-]+', '_', 'g')), '_')
$$;
comment on function loci.canonical_type(text) is
    'Type of an edge or entity in its one form: works_on for "Works On" and "worksOn".';
