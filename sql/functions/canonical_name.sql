-- The form under which a name is unique: lower-cased, white space folded (seed D, rows G1 and S1).
create or replace function loci.canonical_name(p_name text) returns text
language sql immutable parallel safe
return lower(btrim(regexp_replace(p_name, '\s+', ' ', 'g')));
comment on function loci.canonical_name(text) is 'Name lower-cased, with white space folded to single spaces.';
