-- The cursor of a row: the columns that its list is ordered by, as a JSON array. An id alone is its own cursor. Inlines. Internal.
create or replace function loci.make_cursor(p_key jsonb) returns text
language sql stable parallel safe
as $$
    select btrim(array(select jsonb_array_elements_text(p_key))::text, '{}')  -- an element with braces of its own stands in quotes
$$;
comment on function loci.make_cursor(jsonb) is 'The cursor of a row, from the columns that order its list. Internal.';
