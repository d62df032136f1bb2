-- Which edges may a pass remove, and what stands beside them? Removable are those whose confidence is below
-- protected_confidence: first all of these entities' (p_ids, one entity after the other: they may only go without
-- edges), then those between ends that another edge joins too, then the least confident; at most p_limit. The other
-- edges between the same ends come along, not removable, so that redundance can be judged. effective: confidence after
-- decay. Reads the namespace's edges once. apply_graph_cleanup asks again. Security definer: past the policies; checks
-- the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.weak_edges(p_namespace text, p_ids uuid[], p_limit integer)
returns table (id uuid, source text, type text, target text, literal text, confidence double precision,
               effective double precision,
               observations integer, first_observed_at timestamptz, last_observed_at timestamptz, valid_to timestamptz,
               updated_at timestamptz,
               removable boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_strong   double precision := v_settings ->> 'protected_confidence';
    v_ids      uuid[];
    v_beside   uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    with edge as materialized (
        select e.id, e.source_id, e.target_id, e.confidence, e.restored_at, e.type,
               least(e.source_id, e.target_id) as one, greatest(e.source_id, e.target_id) as other
        from loci_data.edges e where e.namespace_id = v_ns and e.superseded_at is null
            and e.valid_to is distinct from e.valid_from  -- one that never holds is nobody's any more
    ), pair as materialized (  -- ends that several edges join, a weak one among them
        select e.one, e.other, array_agg(e.id order by e.id) as ids from edge e where e.target_id is not null
        group by e.one, e.other having count(*) > 1 and min(e.confidence) < v_strong
    ), weak as (
        select e.id, p.ids, least(s.place, t.place) as place,
               loci.effective_confidence(e.confidence,
                                         coalesce(y.decay_rate, (v_settings ->> 'decay_rate')::double precision),
                                         e.restored_at, clock_timestamp()) as effective
        from edge e
        left join pair p on p.one = e.one and p.other = e.other and e.target_id is not null
        left join unnest(p_ids) with ordinality s(id, place) on s.id = e.source_id
        left join unnest(p_ids) with ordinality t(id, place) on t.id = e.target_id
        left join loci_data.edge_types y on y.namespace_id = v_ns and y.type = e.type
        where e.confidence < v_strong
    ), chosen as (
        select w.* from weak w order by w.place, w.ids is null, w.effective, w.id limit p_limit
    )
    select array_agg(c.id),
           array(select distinct u.id from chosen x cross join lateral unnest(x.ids) u(id)) into v_ids, v_beside
               from chosen c;
    return query
    select e.id, s.name, e.type, t.name, e.literal, e.confidence,
           loci.effective_confidence(e.confidence, loci_internal.decay_rate(v_ns, e.type), e.restored_at,
                                     clock_timestamp()),
           e.observations, e.first_observed_at, e.last_observed_at, e.valid_to, e.updated_at, e.id = any (v_ids)
    from loci_data.edges e
    cross join lateral (select i.name from loci_data.entities i where i.namespace_id = v_ns
                        and i.id = e.source_id limit 1) s
    left join lateral (select i.name from loci_data.entities i where i.namespace_id = v_ns
                       and i.id = e.target_id limit 1) t on true
    where e.namespace_id = v_ns and e.id = any (v_ids || v_beside)
    order by s.name, t.name, e.id;
end $$;
comment on function loci.weak_edges(text, uuid[], integer) is
    'Edges that a pass may remove, and those beside them: below the protected confidence. Errors: 42501, P0002, 22023.';
