-- Did an earlier belief about a memory hold it active and valid? One primary key range. Called by is_visible.
create or replace function loci.was_believed(p_namespace_id integer, p_id uuid, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language sql stable parallel safe
as $$
    select exists (
    select from loci_data.memory_beliefs b
    where b.namespace_id = p_namespace_id and b.memory_id = p_id and b.believed_at <= p_known_at and b.believed_to > p_known_at
      and b.status = 'active' and b.valid_from <= p_as_of and (b.valid_to is null or b.valid_to > p_as_of))
$$;
comment on function loci.was_believed(integer, uuid, timestamptz, timestamptz) is 'Whether memory_beliefs held a memory active and valid at as_of, at known_at. Internal.';
