-- Does a row with two times hold at these moments? Half-open intervals; an end of null is open. known_at null: what is
-- believed now. Inlines.
create or replace function loci.holds_at(
    p_valid_from timestamptz, p_valid_to timestamptz, p_recorded_at timestamptz, p_superseded_at timestamptz,
    p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select p_valid_from <= p_as_of and (p_valid_to is null or p_valid_to > p_as_of)
       and (p_known_at is null or p_recorded_at <= p_known_at)
       and (p_superseded_at is null or p_superseded_at > p_known_at)
$$;
comment on function loci.holds_at(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) is
    'Whether a row is valid at as_of and believed at known_at (null: now).';

-- Do two half-open intervals share a moment? An end of null is open. Inlines.
create or replace function loci_internal.periods_overlap(p_from timestamptz, p_to timestamptz,
                                                         p_other_from timestamptz, p_other_to timestamptz)
                                                             returns boolean
language sql immutable parallel safe
as $$
    select (p_to is null or p_to > p_other_from) and (p_other_to is null or p_other_to > p_from)
$$;
comment on function loci_internal.periods_overlap(timestamptz, timestamptz, timestamptz, timestamptz) is
    'Whether two half-open intervals overlap.';
