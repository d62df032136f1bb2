-- The filter that restricts nothing but the two times. Inlines, and what it leaves open is then planned away. Internal.
create or replace function loci.at_moment(p_as_of timestamptz, p_known_at timestamptz) returns loci.memory_filter
language sql immutable parallel safe
as $$
    select row(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
               p_as_of, p_known_at, 'infinity')::loci.memory_filter
$$;
comment on function loci.at_moment(timestamptz, timestamptz) is 'A filter of as_of and known_at alone. Internal.';
