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
