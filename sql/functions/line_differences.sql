-- In which fields do a line and a row differ, in words? p_row null fields are absent ones, so that unknown and missing fields are named.
-- p_here: the row is one that is stored; else it is what the line was read as. Called by restore_rows; internal. No errors.
create or replace function loci.line_differences(p_line jsonb, p_row jsonb, p_here boolean) returns text
language sql immutable parallel safe set search_path = ''
as $$
    select string_agg(case
        when l.value is null then format('%s: is missing', key)
        when r.value is null then format('%s: is no field of this kind', key)
        when p_here then format('%s is %s here and %s in the file', key, left(r.value::text, 100), left(l.value::text, 100))
        else format('%s: %s must be written as %s', key, left(l.value::text, 100), left(r.value::text, 100)) end, '; ' order by key)
    from (select key, value from jsonb_each(p_line)) l full join (select key, value from jsonb_each(p_row)) r using (key)
    where l.value is distinct from r.value
$$;
comment on function loci.line_differences(jsonb, jsonb, boolean) is 'Fields in which a line of an export differs from a row, in words. Internal.';
