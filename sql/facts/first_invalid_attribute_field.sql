-- Which field of a written attribute or aspect is not valid? The first by name, of those that are stated; a field that
-- is not in p_allowed is never valid. Pure.
create or replace function loci_internal.first_invalid_attribute_field(p_fields jsonb, p_allowed text[]) returns text
language sql immutable parallel safe
as $$
    select f.key from jsonb_each(p_fields) f
    where f.key <> all(p_allowed) or case f.key
        when 'name' then jsonb_typeof(f.value) = 'string' and length(btrim(f.value #>> '{}')) between 1 and 255
                         and loci.canonical_name(f.value #>> '{}') <> ''
        when 'content' then jsonb_typeof(f.value) = 'string' and length(f.value #>> '{}') between 1 and 10000
        and f.value #>> '{}' ~ '\S'
        when 'kind' then f.value in ('"attribute"', '"constraint"')
        when 'status' then f.value in ('"active"', '"superseded"', '"deleted"')
        when 'single_valued' then jsonb_typeof(f.value) in ('boolean', 'null')
        when 'valid_from' then isfinite((f.value #>> '{}')::timestamptz) is not false
        when 'valid_to' then isfinite((f.value #>> '{}')::timestamptz) is not false
        when 'memory_id' then jsonb_typeof(f.value) = 'null'
                              or f.value #>> '{}' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        else jsonb_typeof(f.value) = 'number' and (f.value #>> '{}')::numeric between 0 and 1 end is not true
    order by f.key limit 1
$$;
comment on function loci_internal.first_invalid_attribute_field(jsonb, text[]) is
    'Name of the first field that is not valid for an aspect or attribute; null: all are.';
