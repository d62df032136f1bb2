-- A statement with its subject in front, where its words do not name it: "Lives in Braga" of Rosa is "Rosa: Lives in
-- Braga". So it is indexed, embedded, and shown to a model. Whole words decide, whatever their case. Pure, inlines.
create or replace function loci_internal.text_with_subject(p_content text, p_about text) returns text
language sql immutable parallel safe
return case when p_about is null or strpos(
                regexp_replace(' ' || loci.fold_characters(left(p_content, 2000)) || ' ', '[^[:alnum:]]+', ' ', 'g'),
                regexp_replace(' ' || loci.canonical_name(p_about) || ' ', '[^[:alnum:]]+', ' ', 'g')) > 0
            then p_content else p_about || ': ' || p_content end;
comment on function loci_internal.text_with_subject(text, text) is
    'A statement with its subject in front, where its words do not name it.';
