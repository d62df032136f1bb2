-- How many of p_of things may one pass remove (row L5)? Their share, rounded down: of ten things at 10 % one, of nine none. More is a
-- mistake of the model or of what it was shown, and the pass applies nothing. p_of counts what is current and in force when the pass
-- applies. Called by the appliers of passes; internal. Errors: 22023 (a share that is none).
create or replace function loci.removal_limit(p_namespace_id integer, p_share double precision, p_of bigint) returns bigint
language plpgsql immutable set search_path = ''
as $$
begin
    if p_share is null or not (p_share between 0 and 1) then
        raise invalid_parameter_value using column = 'dream_removed_share',
            message = format('dream_removed_share must be between 0 and 1, not %s', p_share);
    end if;
    return floor(p_share::numeric * greatest(coalesce(p_of, 0), 0))::bigint;  -- numeric: 0.1 of 10 is 1
end $$;
comment on function loci.removal_limit(integer, double precision, bigint) is 'How many of so many things a pass may remove. Internal.';
