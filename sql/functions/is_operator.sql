-- Is it the operator who asks? Nobody is not. Inlines. Internal.
create or replace function loci.is_operator() returns boolean
language sql stable parallel safe
as $$
    select loci.caller() is not distinct from loci.operator()
$$;
comment on function loci.is_operator() is 'Whether the operator asks. Internal.';
