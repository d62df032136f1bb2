-- Columns of a table that a change does not show. One range of the catalogue's index. Called by note_rows; internal.
create or replace function loci.hidden_columns(p_table oid, p_shown text[]) returns text[]
language sql stable parallel safe
return array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = p_table and a.attnum > 0 and a.attname::text <> all (p_shown));
comment on function loci.hidden_columns(oid, text[]) is 'Columns of a table that are not among these. Internal.';
