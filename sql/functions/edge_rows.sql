-- Edges as the API shows them: names joined, effective confidence at a moment, faded or not. Before an edge's last observation
-- its confidence is that of the evidence (observation_at). Called by list_edges and delete_edge; internal.
create or replace function loci.edge_rows(p_namespace_id integer, p_ids uuid[], p_as_of timestamptz)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text, confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, fades_at timestamptz, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb)
language sql stable parallel safe
as $$
    select e.id, e.source_id, s.name, e.type, e.target_id, t.name, e.literal, w.worth, e.strength,
           case when e.last_observed_at > p_as_of then w.worth < w.threshold else e.fades_at <= p_as_of end, e.observations, e.first_observed_at,
           e.last_observed_at, e.fades_at, e.valid_from, e.valid_to, e.recorded_at, e.superseded_at, e.metadata
    from (select u.id from unnest(p_ids) u(id)) p
    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = p.id
    join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = e.source_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = e.target_id
    left join lateral loci.observation_at(p_namespace_id, e.id, case when e.last_observed_at > p_as_of then p_as_of end) o on true
    cross join (select loci.settings(p_namespace_id) as settings offset 0) n
    left join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type
    cross join lateral (
        select loci.effective_confidence(
                   coalesce(o.confidence, e.confidence), coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision),
                   coalesce(o.observed_at, e.last_observed_at), p_as_of) as worth,
               (n.settings ->> 'edge_threshold')::double precision as threshold) w
$$;
comment on function loci.edge_rows(integer, uuid[], timestamptz) is 'Edges by id, in the columns that the API shows, at a moment. Internal.';
