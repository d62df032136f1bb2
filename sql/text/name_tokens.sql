-- The tokens of a folded text, each with the space before it; see mark_tokens. Pure, inlines.
create or replace function loci_internal.name_tokens(p_folded text) returns text[]
language sql immutable parallel safe
as $$
    select array_remove(string_to_array(replace(loci_internal.mark_tokens(p_folded), E'\x02', ''), E'\x01'), '')
$$;
comment on function loci_internal.name_tokens(text) is
    'Tokens of a folded text, each with the space before it.';
