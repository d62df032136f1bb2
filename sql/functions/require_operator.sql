-- Refuse everybody but the operator. p_act says what: a verb and its object. Internal. Errors: 42501.
create or replace function loci.require_operator(p_act text) returns void
language plpgsql stable parallel safe
as $$
begin
    if not loci.is_operator() then
        raise insufficient_privilege using message = 'only the operator may ' || p_act;
    end if;
end $$;
comment on function loci.require_operator(text) is 'Refuse everybody but the operator. Errors: 42501. Internal.';
