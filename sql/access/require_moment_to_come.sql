-- An end must be later than now, or never (null). Errors: 22023 (p_field).
create or replace function loci_internal.require_moment_to_come(p_moment timestamptz, p_field text) returns void
language plpgsql stable set search_path = ''
as $$
begin
    if not isfinite(p_moment) or p_moment <= clock_timestamp() then
        raise invalid_parameter_value using column = p_field,
            message = format('%s must be in the future, not %s', p_field, p_moment);
    end if;
end $$;
comment on function loci_internal.require_moment_to_come(timestamptz, text) is
    'Raise unless a moment lies in the future, or is null. Errors: 22023.';
