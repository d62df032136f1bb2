-- The agent that may do anything, as the first revision made it. Inlines to a constant. Internal.
create or replace function loci.operator() returns uuid
language sql immutable parallel safe
as $$
    select loci.nil_uuid()
$$;
comment on function loci.operator() is 'The agent of the operator. Internal.';
