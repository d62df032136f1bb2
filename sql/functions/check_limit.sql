-- Refuse a limit that is none: p_least to p_most (null: as many as one likes). Internal. Errors: 22023 (limit).
create or replace function loci.check_limit(p_limit integer, p_most integer default 1000, p_least integer default 1) returns void
language plpgsql immutable parallel safe
as $$
begin
    if p_limit is null or p_limit < p_least or p_limit > p_most then
        raise invalid_parameter_value using column = 'limit',
            message = format('limit must be %s %s, not %s', p_least, coalesce('to ' || p_most, 'or more'), p_limit);
    end if;
end $$;
comment on function loci.check_limit(integer, integer, integer) is 'Refuse a limit outside of a range. Errors: 22023. Internal.';
