-- The tokens of a folded text, each with the space before it; see mark_tokens. Pure, inlines.
-- Called by index_entity_names and question_names.
create or replace function loci.name_pieces(p_folded text) returns text[]
language sql immutable parallel safe
as $$
    select array_remove(string_to_array(replace(loci.mark_tokens(p_folded), E'\x02', ''), E'\x01'), '')
$$;
comment on function loci.name_pieces(text) is 'Tokens of a folded text, each with the space before it. Internal.';
