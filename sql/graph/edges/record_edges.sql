-- Record edges anew that others stand for so far: with other ends, or with a part of the evidence. p_edges: JSON array
-- of {id, source_id, target_id, base, evidence}. base: edges that it says the same as, the first one's word first:
-- strength is the highest of theirs, metadata unite. evidence: ids of observations, copied; of two by one memory the
-- first. Confidence, counts and spells follow from the evidence, of rivals too (refold_edges), unless there is none.
-- The aspect is the one of the new source with the same name. p_gone: edges that were closed for it, whose rivals are
-- looked at too. The caller holds the locks. Set-based.
create or replace function loci_internal.record_edges(p_namespace_id integer, p_edges jsonb, p_gone uuid[],
                                                      p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    insert into loci_data.edges (namespace_id, id, source_id, type, target_id, literal, confidence, initial_confidence,
                                 strength, aspect_id, observations, first_observed_at, last_observed_at, restored_at,
                                 fades_at, valid_from, valid_to, recorded_at, metadata, updated_at)
    select p_namespace_id, p.id, p.source_id, b.type, p.target_id, b.literal, b.confidence, b.initial_confidence,
           b.strength, k.id, b.observations, b.first_at, b.last_at, b.restored_at,
           loci.fades_at(b.confidence, coalesce((v_rates.rates ->> b.type)::double precision, v_rates.rate),
                         b.restored_at, v_rates.threshold),
           b.valid_from, b.valid_to, p_at, b.metadata, p_at
    from jsonb_to_recordset(p_edges) p(id uuid, source_id uuid, target_id uuid, base uuid[])
    cross join lateral (
        select (array_agg(e.type))[1] as type, (array_agg(e.literal))[1] as literal, max(e.confidence) as confidence,
               max(e.initial_confidence) as initial_confidence, max(e.strength) as strength,
               sum(e.observations)::integer as observations, min(e.first_observed_at) as first_at,
               max(e.last_observed_at) as last_at, max(e.restored_at) as restored_at,
               min(e.valid_from) as valid_from,
               case when bool_and(e.valid_to is not null) then max(e.valid_to) end as valid_to,
               (array_agg(e.aspect_id order by o.place) filter (where e.aspect_id is not null))[1] as aspect_id,
               coalesce((select jsonb_object_agg(m.key, m.value order by s.place desc)
                         from unnest(p.base) with ordinality s(id, place)
                         cross join lateral (select i.* from loci_data.edges i where i.namespace_id = p_namespace_id
                                             and i.id = s.id limit 1) g
                         cross join lateral jsonb_each(g.metadata) m), '{}') as metadata
        from unnest(p.base) with ordinality o(id, place)
        cross join lateral (select i.* from loci_data.edges i where i.namespace_id = p_namespace_id
                            and i.id = o.id limit 1) e) b
    left join lateral (select k.id from loci_data.aspects a
                       join loci_data.aspects k on k.namespace_id = p_namespace_id and k.entity_id = p.source_id
                            and k.canonical_name = a.canonical_name
                       where a.namespace_id = p_namespace_id and a.id = b.aspect_id limit 1) k on true
    where b.type is not null
    order by p.id;

    insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at, valid_from,
                                             valid_to, confidence, reinforcement, recorded_at, origin_id, operation_id,
                                             carried_by, withdrawn, corrects, keeps_end, by_day)
    select p_namespace_id, loci_api.uuid7(), c.edge_id_now, c.memory_id, c.session_id, c.observed_at, c.valid_from,
           c.valid_to, c.confidence, c.reinforcement, c.recorded_at, coalesce(c.origin_id, c.id), c.operation_id,
           c.carried_by, c.withdrawn, c.corrects, c.keeps_end, c.by_day
    from (select o.*, p.id as edge_id_now, row_number() over (partition by p.id, coalesce(o.memory_id, o.id)
                                                          order by x.place) as nth
          from jsonb_to_recordset(p_edges) p(id uuid, evidence uuid[])
          cross join lateral unnest(p.evidence) with ordinality x(id, place)
          cross join lateral (select i.* from loci_data.edge_observations i where i.namespace_id = p_namespace_id
                              and i.id = x.id limit 1) o) c
    where c.nth = 1 order by c.edge_id_now, c.recorded_at, c.id;

    perform loci_internal.refold_edges(p_namespace_id, p_gone || array(
        select (p ->> 'id')::uuid from jsonb_array_elements(p_edges) p), p_at);
end $$;
comment on function loci_internal.record_edges(integer, jsonb, uuid[], timestamptz) is
    'Record edges anew from others, with copies of their evidence.';
