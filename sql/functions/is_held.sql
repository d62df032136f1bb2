-- Does a row with two times hold at these moments? Half-open intervals; an end of null is open. known_at null: what is believed now.
-- Inlines.
create or replace function loci.is_held(
    p_valid_from timestamptz, p_valid_to timestamptz, p_recorded_at timestamptz, p_superseded_at timestamptz,
    p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select p_valid_from <= p_as_of and (p_valid_to is null or p_valid_to > p_as_of)
       and (p_known_at is null or p_recorded_at <= p_known_at) and (p_superseded_at is null or p_superseded_at > p_known_at)
$$;
comment on function loci.is_held(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) is 'Whether a row is valid at as_of and believed at known_at (null: now).';
