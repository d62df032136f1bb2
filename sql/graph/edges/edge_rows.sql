-- Edges as the API shows them, at a moment, as known at another (infinity: as believed now): names joined, effective
-- confidence, faded or not, the spell of then as believed then, confidence and counts of the evidence until then (see
-- edge_at). strength, aspect and metadata are present ones, and so are the names, and the rates and threshold of decay;
-- fades_at is reckoned from them. An edge that holds and was not observed yet has 0 observations, and nothing has
-- decayed.
create or replace function loci_internal.edge_rows(p_namespace_id integer, p_ids uuid[], p_as_of timestamptz,
                                                   p_known_at timestamptz)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, restored_at timestamptz, fades_at timestamptz, valid_from timestamptz,
               valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text)
language sql stable parallel safe
as $$
    select e.id, e.source_id, s.name, e.type, e.target_id, t.name, e.literal,
           loci.effective_confidence(b.confidence, r.rate, coalesce(b.restored_at, p_as_of), p_as_of), e.strength,
           f.fades_at <= p_as_of, b.observations, b.first_at, b.last_at, b.restored_at,
           case when b.restored_at is not null and f.fades_at < '10000-01-01 00:00:00+00' then f.fades_at end,
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
        select e.confidence, e.restored_at, e.first_observed_at, e.last_observed_at, e.observations,
               case when e.spells is null then e.valid_from else lower(w.spell) end,
               case when e.spells is null then e.valid_to else upper(w.spell) end
        from (select loci_internal.spell_around(e.valid_from, e.valid_to, e.spells, p_as_of) as spell) w
        where e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
        union all
        select v.confidence, v.restored_at, v.first_observed_at, v.last_observed_at, v.observations, v.valid_from,
               v.valid_to
        from loci_internal.edge_at(p_namespace_id, e.id, e.valid_from, e.valid_to, e.spells, p_as_of, p_known_at) v
        where not (e.last_observed_at <= p_as_of and e.updated_at <= p_known_at)
    ) b(confidence, restored_at, first_at, last_at, observations, valid_from, valid_to)
    cross join lateral (select loci.fades_at(b.confidence, r.rate, coalesce(b.restored_at, p_as_of),
                                             (n.settings ->> 'edge_threshold')::double precision)) f(fades_at)
$$;
comment on function loci_internal.edge_rows(integer, uuid[], timestamptz, timestamptz) is
    'Edges by id, in the columns that the API shows, at a moment as known at another.';
