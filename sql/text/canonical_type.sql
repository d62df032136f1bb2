-- A type of edges or entities in its one form: "Works On", "works-on" and "works_on" are works_on. Lower case; runs of
-- white space, hyphens and underscores are one underscore, none at the ends. Pure, inlines.
create or replace function loci.canonical_type(p_type text) returns text
language sql immutable parallel safe
as $$
    select btrim(regexp_replace(lower(p_type), '[\s_-]+', '_', 'g'), '_')
$$;
comment on function loci.canonical_type(text) is 'Type of an edge or entity in its one form: works_on for "Works On".';
