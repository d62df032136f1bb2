-- Reckon edges from the evidence that is left after some was erased. Where the observation that stood for a
-- conversation is gone, the next one of it does: it restored confidence. Confidence and the moment that decay counts
-- from are those of the newest observation that restored, by what was recorded with it: the rule of
-- observed_confidence_at.
-- strength, validity and metadata keep no record of who said them, and stay. The caller holds the edges' locks. Index
-- edge_observations_edge.
create or replace function loci_internal.recount_edge_evidence(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    update loci_data.edge_observations o set restored = true
    from (select distinct on (s.edge_id, s.session_id) s.id,
          bool_or(s.restored) over (partition by s.edge_id, s.session_id) as stood_for
          from loci_data.edge_observations s
          where s.namespace_id = p_namespace_id and s.edge_id = any (p_ids) and s.session_id is not null
          order by s.edge_id, s.session_id, s.observed_at, s.id) f
    where o.namespace_id = p_namespace_id and o.id = f.id and not f.stood_for;

    update loci_data.edges e
    set confidence = newest.confidence, initial_confidence = n.initial_confidence, observations = n.times,
        first_observed_at = n.first_at,
        last_observed_at = newest.observed_at, updated_at = greatest(e.updated_at, clock_timestamp()),
        fades_at = loci.fades_at(newest.confidence,
                                 coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate),
                                 newest.observed_at,
                                 v_rates.threshold)
    from unnest(p_ids) i(id)
    cross join lateral (
        select count(*)::integer as times, min(o.observed_at) as first_at,
               (array_agg(o.confidence order by o.recorded_at, o.id))[1] as initial_confidence
        from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.edge_id = i.id) n
    cross join lateral (
        select o.confidence, o.observed_at from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.edge_id = i.id
        order by o.restored desc, case when o.restored then o.observed_at end desc, o.observed_at,
                 o.id desc limit 1) newest
    where e.namespace_id = p_namespace_id and e.id = i.id;
end $$;
comment on function loci_internal.recount_edge_evidence(integer, uuid[]) is
    'Bring edges in step with their evidence after some of it was erased.';
