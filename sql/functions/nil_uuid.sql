-- The UUID that sorts before all others, which is nobody's id: where a walk over ids begins. Inlines to a constant. Internal.
create or replace function loci.nil_uuid() returns uuid
language sql immutable parallel safe
as $$
    select '00000000-0000-0000-0000-000000000000'::uuid
$$;
comment on function loci.nil_uuid() is 'The UUID that sorts before all others. Internal.';
