-- Make a sequence go on after a number that a restored row has, if it lies at most p_most ahead. Another session may draw numbers at
-- the same moment, and none may be given out twice: a short way is drawn through, a long one is jumped from a number drawn.
-- Called by restore_rows; internal. Errors: 22023 where the number is further away.
create or replace function loci.pass_number(p_sequence regclass, p_number bigint, p_most bigint) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_gap bigint := p_number - coalesce(pg_catalog.pg_sequence_last_value(p_sequence), 0);
begin
    if v_gap > p_most then
        raise invalid_parameter_value using message = format('the number %s is too far from those that this server gives out', p_number);
    elsif v_gap > 100000 then
        perform setval(p_sequence, nextval(p_sequence) + v_gap);
    else
        perform nextval(p_sequence) from generate_series(1, v_gap);
    end if;
end $$;
comment on function loci.pass_number(regclass, bigint, bigint) is 'Make a sequence go on after a number. Errors: 22023. Internal.';
