-- Evidence of edges, and the figures that follow from it.

-- Evidence of edges: each observation, with the edge, the memory and the agent. Copies of it that stand at edges which
-- a merge has closed are left out. Indexes edge_observations_edge, _memory, _operation, _observed. Its agent is looked
-- up in operations row by row, by the primary key: as a join it would be planned without statistics of the namespace,
-- and without via <> '', which is always true, over the whole index operations_agent, which has all that is asked.
-- Under the policies: rows of granted namespaces only.
create or replace view loci.evidence with (security_invoker = true) as
select n.name as namespace, o.id, o.edge_id, s.name as source, e.type, t.name as target, e.literal, o.confidence,
       o.observed_at, o.session_id, o.memory_id, m.content as memory, o.valid_from, o.valid_to, o.recorded_at,
       coalesce(not o.withdrawn @> statement_timestamp(), true) as counts, o.reinforcement, o.operation_id,
       (select p.agent_id from loci_data.operations p where p.namespace_id = o.namespace_id and p.id = o.operation_id
        and p.via <> '') as agent_id,
       (select loci.agent_name(p.agent_id) from loci_data.operations p
        where p.namespace_id = o.namespace_id and p.id = o.operation_id and p.via <> '') as agent,
       e.source_id, e.target_id
from loci_data.edge_observations o
join loci_data.namespaces n on n.id = o.namespace_id
join loci_data.edges e on e.namespace_id = o.namespace_id and e.id = o.edge_id and e.superseded_at is null
join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
left join loci_data.memories m on m.namespace_id = o.namespace_id and m.id = o.memory_id;
comment on view loci.evidence is
    'Evidence of edges: one row each time that somebody said so. Also of edges that have faded or ended.';
comment on column loci.evidence.namespace is 'Name of the namespace.';
comment on column loci.evidence.id is 'Identifier.';
comment on column loci.evidence.edge_id is 'The edge; those that live are in edges. Joins edges.id.';
comment on column loci.evidence.source is 'Name of the entity that the edge starts from.';
comment on column loci.evidence.type is 'The predicate, such as works_on.';
comment on column loci.evidence.target is 'Name of the entity it points to; null when the target is a literal.';
comment on column loci.evidence.literal is 'A literal target.';
comment on column loci.evidence.confidence is
    'The confidence that was stated, 0 to 1; null: a correction that leaves it. That of now is in edges.';
comment on column loci.evidence.observed_at is 'When it was said; it may speak of other times.';
comment on column loci.evidence.session_id is 'The conversation that showed it; null: none.';
comment on column loci.evidence.memory_id is 'The memory that showed it; null: none. Joins memory_versions.id.';
comment on column loci.evidence.memory is 'Its content.';
comment on column loci.evidence.valid_from is 'Valid time: from when the edge holds, as stated; null: not stated.';
comment on column loci.evidence.valid_to is 'Valid time: until when, as stated; null: not stated.';
comment on column loci.evidence.recorded_at is 'Recorded time: when it was written.';
comment on column loci.evidence.counts is 'Whether it counts now; false: its memory was forgotten.';
comment on column loci.evidence.reinforcement is
    'Effect on confidence in a new conversation: full, initial or running_average; corrected: a correction, which '
    'counts as no observation.';
comment on column loci.evidence.operation_id is
    'The operation that observed it; null: not known any more. Joins operations.id.';
comment on column loci.evidence.agent_id is 'Agent that observed it; null: not known any more.';
comment on column loci.evidence.agent is 'Name of that agent.';
comment on column loci.evidence.source_id is 'Identifier of the source. Joins entities.id.';
comment on column loci.evidence.target_id is 'Identifier of the target. Joins entities.id.';

-- Which times do the memories that show an edge state, as believed at a moment (infinity: now)? Each until it ends; one
-- that goes on after an interlude, of the same lineage as the first, from where it begins. Null: of all times, since
-- none ends. Those that are forgotten, or were corrected, speak of none. A look-up a memory.
create or replace function loci_internal.evidence_span(p_namespace_id integer, p_memory_id uuid, p_carried_by uuid[],
                                                       p_known_at timestamptz) returns tstzmultirange
language plpgsql stable parallel safe
as $$
declare
    v_known_at timestamptz := nullif(p_known_at, 'infinity');
    v_first    loci_data.memories;
    v_span     tstzmultirange := '{}';
    v_one      loci_data.memories;
begin
    select m.* into v_first from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_memory_id;
    if v_first.status = 'active' and v_first.valid_to is null and v_known_at is null then
        return null;
    end if;
    for v_one in
        select b.* from unnest(p_memory_id || p_carried_by) u(id)
        cross join lateral (select x.* from loci_data.memories x where x.namespace_id = p_namespace_id
                            and x.id = u.id limit 1) m
        cross join lateral loci_internal.memory_as_believed(m, v_known_at) b
        where b.status = 'active' and b.valid_to is distinct from b.valid_from
    loop
        v_span := v_span + tstzmultirange(tstzrange(
            case when v_one.lineage_id = v_first.lineage_id and v_one.id <> p_memory_id then v_one.valid_from end,
            v_one.valid_to));
    end loop;
    return nullif(v_span, '{(,)}');
end $$;
comment on function loci_internal.evidence_span(integer, uuid, uuid[], timestamptz) is
    'The times of which memories speak that show an edge; null: all.';

-- What do the observations of an edge add up to, of those dated until a moment and recorded until another? The first
-- sets confidence; a later one in a new conversation sets it anew, by the reinforcement that was in force when it
-- was recorded, and decay counts from there; one in a conversation that spoke before only counts. A correction is not
-- counted, and sets what it states; before the first observation it has no effect. No observations: null and 0. A pure
-- function of the evidence; the order of telling does not matter. Index edge_observations_edge; about 1 µs an
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

-- The day of a moment, in UTC: observations of one day without a session count as one conversation. Inlines.
create or replace function loci_internal.day_of(p_at timestamptz) returns date
language sql immutable parallel safe
return (p_at at time zone 'UTC')::date;
comment on function loci_internal.day_of(timestamptz) is 'The day of a moment, in UTC.';
