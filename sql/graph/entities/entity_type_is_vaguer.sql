-- Does an entity's type give way to another? unknown to any, extracted to any but unknown; never the reverse. Pure,
-- inlines.
create or replace function loci_internal.entity_type_is_vaguer(p_type text, p_other text) returns boolean
language sql immutable parallel safe
return coalesce(p_type = 'unknown' and p_other <> 'unknown' or p_type = 'extracted'
                and p_other not in ('unknown', 'extracted'), false);
comment on function loci_internal.entity_type_is_vaguer(text, text) is
    'Whether the first entity type says less than the second (unknown, then extracted, then all others).';
