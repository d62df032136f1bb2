-- How has a namespace grown? Of each of the last p_weeks weeks (they begin on Monday, UTC; the last is that of p_now),
-- oldest first: versions of memories written in it, and how many there were at its end. Memories that were erased since
-- are in neither. Index memories_recorded, the range of the namespace once. Security definer: past the policies; checks
-- the caller itself. Errors: 42501, P0002, 22023 (weeks).
create or replace function loci.namespace_growth(p_namespace text, p_weeks integer default 26,
                                                 p_now timestamptz default now())
returns table (week date, written bigint, memories bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'reader');
    v_last date;
begin
    if p_weeks is null or p_weeks not between 1 and 520 then
        raise invalid_parameter_value using message = 'weeks must be between 1 and 520', column = 'weeks';
    elsif p_now is null or not isfinite(p_now) then
        raise invalid_parameter_value using message = 'now must be a finite time', column = 'now';
    end if;
    v_last := date_trunc('week', p_now at time zone 'UTC')::date;
    return query
    with counted as materialized (
        select greatest(date_trunc('week', m.recorded_at at time zone 'UTC')::date, v_last - 7 * p_weeks) as week,
               count(*) as written
        from loci_data.memories m
        where m.namespace_id = v_ns and m.recorded_at < (v_last + 7)::timestamp at time zone 'UTC' group by 1
    )
    select v_last - 7 * g.back, coalesce(c.written, 0),
           (select coalesce(sum(b.written), 0)::bigint from counted b where b.week <= v_last - 7 * g.back)
    from generate_series(0, p_weeks - 1) g(back)
    left join counted c on c.week = v_last - 7 * g.back
    order by 1;
end $$;
comment on function loci.namespace_growth(text, integer, timestamptz) is
    'Memories written in each week, and how many there were at its end. Errors: 42501, P0002, 22023.';
