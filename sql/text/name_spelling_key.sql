-- Under which key are two spellings of a name the same? Case, accents of Latin and Greek letters, and what only joins
-- parts go: spaces, hyphens, dots, apostrophes and underscores between two letters, or between a letter and a digit; a
-- dot or comma at the end. Everything else stays, for it may be the difference: signs (C, C++, C#), marks at the edge
-- (.NET, NET), and what stands between two digits (v1.0, v10). Null where too little is left to be sure: fewer than 4
-- letters and digits. Pure.
create or replace function loci_internal.name_spelling_key(p_name text) returns text
language sql immutable parallel safe
as $$
    select case when length(regexp_replace(k.key, '[^[:alnum:]]', '', 'g')) >= 4 then k.key end
    from (select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
              lower(normalize(btrim(p_name), NFD)), '([a-zα-ω])[\u0300-\u036f]+', '\1', 'g'),
              '(?<=[0-9])[ \u00a0]+(?=[0-9])', ' ', 'g'),
              '(?<=[[:alpha:]])[\s._''’‐‑–-]+(?=[[:alnum:]])', '', 'g'),
              '(?<=[0-9])[\s._''’‐‑–-]+(?=[[:alpha:]])', '', 'g'),
              '(?<=[[:alpha:]])[.,]+$', '', 'g') as key) k
$$;
comment on function loci_internal.name_spelling_key(text) is
    'Key that spellings of one name share: without case, accents, spaces and joining marks; null where it would be '
    'too short.';
