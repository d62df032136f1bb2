-- What do the observations of an edge add up to, of those dated until a moment and recorded until another? The first
-- sets confidence; a later one in a new conversation sets it anew, by the reinforcement that was in force when it
-- was recorded, and decay counts from there; one in a conversation that spoke before only counts. A correction is
-- not counted, and sets what it states; before the first observation it says nothing. No observations: null and 0. A
-- pure function of the evidence, in whatever order it was told. Index edge_observations_edge; about 1 µs an
-- observation.
create or replace function loci_internal.edge_figures(
    p_namespace_id integer, p_edge_id uuid, p_as_of timestamptz, p_known_at timestamptz,
    out confidence double precision, out initial_confidence double precision, out restored_at timestamptz,
    out first_observed_at timestamptz, out last_observed_at timestamptz, out observations integer)
language plpgsql stable parallel safe
as $$
declare
    v_one record;
begin
    observations := 0;
    for v_one in
        select e.observed_at, e.confidence as given, e.reinforcement, e.fresh
        from loci_internal.edge_evidence(p_namespace_id, p_edge_id, p_as_of, p_known_at) e order by e.nth
    loop
        continue when v_one.reinforcement = 'corrected' and observations = 0;
        if v_one.reinforcement = 'corrected' then
            last_observed_at := v_one.observed_at;
            continue when v_one.given is null;
            confidence := v_one.given;
            initial_confidence := v_one.given;
            restored_at := v_one.observed_at;
            continue;
        end if;
        observations := observations + 1;
        last_observed_at := v_one.observed_at;
        if observations = 1 then
            confidence := v_one.given;
            initial_confidence := v_one.given;
            first_observed_at := v_one.observed_at;
            restored_at := v_one.observed_at;
        elsif v_one.fresh then
            confidence := case v_one.reinforcement
                when 'full' then 1 when 'initial' then initial_confidence
                else (confidence * (observations - 1) + v_one.given) / observations end;
            restored_at := v_one.observed_at;
        end if;
    end loop;
end $$;
comment on function loci_internal.edge_figures(integer, uuid, timestamptz, timestamptz) is
    'Confidence, its moments and the count of an edge, from its observations until two moments.';

-- Observations of an edge, dated until a moment and recorded until another, in the order in which they count: of when
-- they were made, then of recording; corrections (reinforcement corrected) among them. Those of a memory that was
-- forgotten at the second moment are not there. fresh: in a conversation that had not spoken of it before; without a
-- session (by_day), on a day, in UTC, on which nobody had. Inlines. Index edge_observations_edge.
create or replace function loci_internal.edge_evidence(p_namespace_id integer, p_edge_id uuid, p_as_of timestamptz,
                                                       p_known_at timestamptz)
returns table (id uuid, nth bigint, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz,
               confidence double precision, reinforcement text, fresh boolean, session_id text, memory_id uuid,
               recorded_at timestamptz)
language sql stable parallel safe
as $$
    select o.id, row_number() over (order by o.observed_at, o.recorded_at, coalesce(o.origin_id, o.id)),
           o.observed_at, o.valid_from, o.valid_to, o.confidence, o.reinforcement,
           case when o.session_id is not null
                then row_number() over (partition by o.session_id order by o.observed_at, o.recorded_at,
                                        coalesce(o.origin_id, o.id)) = 1
                else o.by_day is not true or loci_internal.day_of(o.observed_at) is distinct from
                     loci_internal.day_of(lag(o.observed_at) over (order by o.observed_at, o.recorded_at,
                                                                   coalesce(o.origin_id, o.id))) end,
           o.session_id, o.memory_id, o.recorded_at
    from loci_data.edge_observations o
    where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.observed_at <= p_as_of
      and o.recorded_at <= p_known_at and (o.withdrawn is null or not o.withdrawn @> p_known_at)
$$;
comment on function loci_internal.edge_evidence(integer, uuid, timestamptz, timestamptz) is
    'Observations of an edge until two moments, in the order in which they count.';

-- The day of a moment, in UTC: observations without a session are of one conversation each day. Inlines.
create or replace function loci_internal.day_of(p_at timestamptz) returns date
language sql immutable parallel safe
return (p_at at time zone 'UTC')::date;
comment on function loci_internal.day_of(timestamptz) is 'The day of a moment, in UTC.';
