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
