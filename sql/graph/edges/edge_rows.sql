-- Edges as the API shows them, at a moment, as known at another (infinity: as believed now): names joined, effective
-- confidence, faded or not, validity as believed then. Where the row itself does not answer for the moments,
-- confidence, observations and their first and last times are those of the evidence until then. strength, aspect and
-- metadata are present ones, and so are the names, and the rates and threshold of decay; fades_at is reckoned from
-- them.
create or replace function loci_internal.edge_rows(p_namespace_id integer, p_ids uuid[], p_as_of timestamptz,
                                                   p_known_at timestamptz)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, fades_at timestamptz, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text)
language sql stable parallel safe
as $$
    select e.id, e.source_id, s.name, e.type, e.target_id, t.name, e.literal,
           loci.effective_confidence(b.confidence, r.rate, b.observed_at, p_as_of), e.strength, b.fades_at <= p_as_of,
           b.observations,
           b.first_at, b.observed_at, case when b.fades_at < '10000-01-01 00:00:00+00' then b.fades_at end,
           b.valid_from, b.valid_to, e.recorded_at,
           case when e.superseded_at <= p_known_at then e.superseded_at end, e.metadata, a.name
    from (select u.id from unnest(p_ids) u(id)) p
    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = p.id
    join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = e.source_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = e.target_id
    left join loci_data.aspects a on a.namespace_id = p_namespace_id and a.id = e.aspect_id
    cross join (select loci_internal.settings(p_namespace_id) as settings offset 0) n
    left join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type
    cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision) as rate) r
    cross join lateral (
        select e.confidence, e.last_observed_at, e.first_observed_at, e.observations,
               loci.fades_at(e.confidence, r.rate, e.last_observed_at,
                             (n.settings ->> 'edge_threshold')::double precision), e.valid_from, e.valid_to
        where e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
        union all
        select o.confidence, o.observed_at, c.first_at, c.observations,
               loci.fades_at(o.confidence, r.rate, o.observed_at, (n.settings ->> 'edge_threshold')::double precision),
               v.valid_from, v.valid_to
        from loci_internal.observed_confidence_at(p_namespace_id, e.id, p_as_of, p_known_at) o
        cross join loci_internal.edge_validity_at(p_namespace_id, e.id, e.valid_from, e.valid_to, p_known_at) v
        cross join lateral (
            select min(x.observed_at) as first_at, count(*)::integer as observations from loci_data.edge_observations x
            where x.namespace_id = p_namespace_id and x.edge_id = e.id and x.observed_at <= p_as_of
              and x.recorded_at <= p_known_at) c
        where not (e.last_observed_at <= p_as_of and e.updated_at <= p_known_at)
    ) b(confidence, observed_at, first_at, observations, fades_at, valid_from, valid_to)
$$;
comment on function loci_internal.edge_rows(integer, uuid[], timestamptz, timestamptz) is
    'Edges by id, in the columns that the API shows, at a moment as known at another.';

-- From when and until when was an edge valid, as believed at a moment? The first belief that ended after it, else what
-- the edge says now (p_valid_from, p_valid_to). known_at infinity is the present belief, and reads nothing. Inlines.
-- Primary key of edge_beliefs.
create or replace function loci_internal.edge_validity_at(p_namespace_id integer, p_edge_id uuid,
                                                          p_valid_from timestamptz, p_valid_to timestamptz,
                                              p_known_at timestamptz)
returns table (valid_from timestamptz, valid_to timestamptz)
language sql stable parallel safe
as $$
    select coalesce(b.valid_from, p_valid_from), case when b.valid_from is null then p_valid_to else b.valid_to end
    from (select) nothing
    left join lateral (
        select k.valid_from, k.valid_to from loci_data.edge_beliefs k
        where p_known_at < 'infinity' and k.namespace_id = p_namespace_id and k.edge_id = p_edge_id
          and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci_internal.edge_validity_at(integer, uuid, timestamptz, timestamptz, timestamptz) is
    'Validity of an edge as believed at a moment.';
