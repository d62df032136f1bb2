-- Pages: limits and cursors.

-- Refuse a limit outside of p_least to p_most (null: as many as one likes). Errors: 22023 (limit).
create or replace function loci_internal.check_limit(p_limit integer, p_most integer default 1000,
                                                     p_least integer default 1) returns void
language plpgsql immutable parallel safe
as $$
begin
    if p_limit is null or p_limit < p_least or p_limit > p_most then
        raise invalid_parameter_value using column = 'limit',
            message = format('limit must be %s %s, not %s', p_least, coalesce('to ' || p_most, 'or more'), p_limit);
    end if;
end $$;
comment on function loci_internal.check_limit(integer, integer, integer) is
    'Refuse a limit outside of a range. Errors: 22023.';

-- Refuse the length of a page outside of 1 to 1000. One more may be asked for, to know whether there are more.
-- Errors: 22023 (limit).
create or replace function loci_internal.check_page(p_limit integer) returns void
language plpgsql immutable parallel safe
as $$
begin
    perform loci_internal.check_limit(case p_limit when 1001 then 1000 else p_limit end);
end $$;
comment on function loci_internal.check_page(integer) is
    'Refuse the length of a page outside of 1 to 1000. Errors: 22023.';

-- The cursor of a row: the columns that its list is ordered by, as a JSON array. An id alone is its own cursor.
-- Inlines.
create or replace function loci_internal.make_cursor(p_key jsonb) returns text
language sql stable parallel safe
as $$
    -- an element with braces of its own stands in quotes
    select btrim(array(select jsonb_array_elements_text(p_key))::text, '{}')
$$;
comment on function loci_internal.make_cursor(jsonb) is
    'The cursor of a row, from the columns that order its list.';

-- What does a cursor say? The columns that make_cursor was given, as text; each is one of its type in p_types, so that
-- the caller's cast cannot fail. Null: none, the first page. Errors: 22023 (cursor).
create or replace function loci_internal.read_cursor(p_cursor text, variadic p_types regtype[]) returns text[]
language plpgsql stable parallel safe
as $$
declare
    v_key  text[];
    v_read text;
begin
    if p_cursor is null then
        return null;
    end if;
    begin
        v_key := '{' || p_cursor || '}';
        if array_ndims(v_key) is distinct from 1 or cardinality(v_key) <> cardinality(p_types)
            or array_position(v_key, null) is not null then
            raise data_exception;
        end if;
        for i in 1 .. cardinality(v_key) loop
            execute 'select $1::' || p_types[i] into v_read using v_key[i];
        end loop;
    exception when data_exception then
        raise invalid_parameter_value using message = 'cursor must be the next_cursor of a page', column = 'cursor';
    end;
    return v_key;
end $$;
comment on function loci_internal.read_cursor(text, regtype[]) is
    'The columns that a cursor stands for, each of its type; null: none. Errors: 22023.';
