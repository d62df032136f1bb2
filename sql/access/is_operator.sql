-- Is it the operator who asks? Nobody is not. Inlines.
create or replace function loci_internal.is_operator() returns boolean
language sql stable parallel safe
as $$
    select loci.current_agent() is not distinct from loci_internal.operator_id()
$$;
comment on function loci_internal.is_operator() is
    'Whether the operator asks.';

-- The UUID that sorts before all others, which is nobody's id: where a walk over ids begins. Inlines to a constant.
create or replace function loci_internal.nil_uuid() returns uuid
language sql immutable parallel safe
as $$
    select '00000000-0000-0000-0000-000000000000'::uuid
$$;
comment on function loci_internal.nil_uuid() is
    'The UUID that sorts before all others.';

-- The agent that may do anything, as the first revision made it. Inlines to a constant.
create or replace function loci_internal.operator_id() returns uuid
language sql immutable parallel safe
as $$
    select loci_internal.nil_uuid()
$$;
comment on function loci_internal.operator_id() is
    'The agent of the operator.';

-- Refuse everybody but the operator. p_act says what: a verb and its object. Errors: 42501.
create or replace function loci_internal.require_operator(p_act text) returns void
language plpgsql stable parallel safe
as $$
begin
    if not loci_internal.is_operator() then
        raise insufficient_privilege using message = 'only the operator may ' || p_act;
    end if;
end $$;
comment on function loci_internal.require_operator(text) is
    'Refuse everybody but the operator. Errors: 42501.';
