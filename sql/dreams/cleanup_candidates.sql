-- Candidates of the graph cleanup: stale entities, weak edges, and edges that stay.

-- Which of these edges does a pass have to keep, and by which guard? p_edges: [{id, reason, seen}], seen: its
-- updated_at when it was shown. A row for each; guard null: it may go.
--   gone      not there, or not believed any more
--   confident its confidence is protected_confidence or more
--   changed   observed or changed since it was shown
--   redundant nothing that stays says the same ends are joined (of a literal: has the same source and type)
--   recent    said to be outdated, but observed within dream_entity_days, and its validity has not ended
-- The caller holds their locks. Index ranges of edges_source and edges_target.
create or replace function loci_internal.protected_edges(p_namespace_id integer, p_edges jsonb)
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with item as materialized (
        select distinct on (i.id) i.* from jsonb_to_recordset(p_edges) i(id uuid, reason text, seen timestamptz)
        order by i.id
    ), setting as materialized (select loci_internal.settings(p_namespace_id) as all)
    select i.id, case
        when e.id is null then 'gone'
        when e.confidence >= (s.all ->> 'protected_confidence')::double precision then 'confident'
        when e.updated_at is distinct from i.seen then 'changed'
        when i.reason = 'redundant' and not exists (
            select from loci_data.edges o
            where o.namespace_id = p_namespace_id and o.superseded_at is null
              and o.valid_to is distinct from o.valid_from
              and o.id <> all (array(select x.id from item x))
              and (o.source_id = e.source_id
                   and (o.target_id = e.target_id or e.literal is not null and o.type = e.type)
                   or o.source_id = e.target_id and o.target_id = e.source_id)) then 'redundant'
        when i.reason = 'outdated' and coalesce(e.valid_to, 'infinity') > clock_timestamp()
             and e.last_observed_at > clock_timestamp() - (s.all ->> 'dream_entity_days')::double precision
                 * interval '24 hours' then 'recent' end
    from item i
    cross join setting s
    left join lateral (select x.* from loci_data.edges x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.superseded_at is null limit 1) e
                           on true
    order by i.id
$$;
comment on function loci_internal.protected_edges(integer, jsonb) is
    'Which guard keeps each of these edges from being removed by a pass; null: none.';

-- Which entities may a pass remove? None that is a person, pinned, was ever referenced, is mentioned by a memory in
-- force, has facts, is younger than dream_entity_days, or has an edge of protected_confidence or more. Oldest first, at
-- most p_limit; edges: how many they have (weaker ones). Reads the namespace's entities in order of id until it has
-- enough; index probes for each (edges_source, edges_target, memory_mentions_entity, aspects_weight).
-- apply_graph_cleanup asks again. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002,
-- 22023 (limit).
create or replace function loci_api.stale_entities(p_namespace text, p_limit integer)
returns table (id uuid, name text, type text, mentions integer, created_at timestamptz, updated_at timestamptz,
               edges bigint)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_before   timestamptz := clock_timestamp() - (v_settings ->> 'dream_entity_days')::double precision
        * interval '24 hours';
    v_strong   double precision := v_settings ->> 'protected_confidence';
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    return query
    select e.id, e.name, e.type, e.mentions, e.created_at, e.updated_at,
           (select count(*) from loci_data.edges g where g.namespace_id = v_ns and g.source_id = e.id
            and g.superseded_at is null)
           + (select count(*) from loci_data.edges g where g.namespace_id = v_ns and g.target_id = e.id
              and g.source_id <> e.id and g.superseded_at is null)
    from loci_data.entities e
    where e.namespace_id = v_ns and e.merged_into is null and not e.hidden and e.type <> 'person'
      and e.pinned_at is null
      and e.last_referenced_at is null and e.created_at <= v_before
      and (select g.id from loci_data.edges g where g.namespace_id = v_ns and g.source_id = e.id
           and g.superseded_at is null
           and g.confidence >= v_strong limit 1) is null
      and (select g.id from loci_data.edges g where g.namespace_id = v_ns and g.target_id = e.id
           and g.superseded_at is null
           and g.confidence >= v_strong limit 1) is null
      and not loci_internal.entity_is_supported(v_ns, e.id)
    order by e.id limit p_limit;
end $$;
comment on function loci_api.stale_entities(text, integer) is
    'Entities that a pass may remove: old, never referenced, and nothing that counts rests on them. Errors: 42501, '
    'P0002, 22023.';

-- Choose weak edges to look at, those of the given entities first (p_ids, in their order): ids, and beside them those
-- that join the same ends (beside). A weak edge is less sure than the setting protected_confidence.
create or replace function loci_internal.choose_weak_edges(p_namespace_id integer, p_ids uuid[], p_limit integer,
                                                           out ids uuid[], out beside uuid[])
language plpgsql stable set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_strong   double precision := v_settings ->> 'protected_confidence';
begin
    with edge as materialized (
        select e.id, e.source_id, e.target_id, e.confidence, e.restored_at, e.type,
               least(e.source_id, e.target_id) as one, greatest(e.source_id, e.target_id) as other
        from loci_data.edges e where e.namespace_id = p_namespace_id and e.superseded_at is null
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
        left join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type
        where e.confidence < v_strong
    ), chosen as (
        select w.* from weak w order by w.place, w.ids is null, w.effective, w.id limit p_limit
    )
    select array_agg(c.id),
           array(select distinct u.id from chosen x cross join lateral unnest(x.ids) u(id)) into ids, beside
    from chosen c;
end $$;
comment on function loci_internal.choose_weak_edges(integer, uuid[], integer) is
    'Weak edges to look at, and those that join the same ends.';

-- Which edges may a pass remove, and what stands beside them? Removable are those whose confidence is below
-- protected_confidence: first all of these entities' (p_ids, one entity after the other: they may only go without
-- edges), then those between ends that another edge joins too, then the least confident; at most p_limit. The other
-- edges between the same ends come along, not removable, so that redundance can be judged. effective: confidence after
-- decay. Reads the namespace's edges once. apply_graph_cleanup asks again. Security definer: past the policies; checks
-- the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.weak_edges(p_namespace text, p_ids uuid[], p_limit integer)
returns table (id uuid, source text, type text, target text, literal text, confidence double precision,
               effective double precision, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, valid_to timestamptz, updated_at timestamptz, removable boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_chosen record;
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    v_chosen := loci_internal.choose_weak_edges(v_ns, p_ids, p_limit);
    return query
    select e.id, s.name, e.type, t.name, e.literal, e.confidence,
           loci.effective_confidence(e.confidence, loci_internal.decay_rate(v_ns, e.type), e.restored_at,
                                     clock_timestamp()),
           e.observations, e.first_observed_at, e.last_observed_at, e.valid_to, e.updated_at, e.id = any (v_chosen.ids)
    from loci_data.edges e
    cross join lateral (select i.name from loci_data.entities i where i.namespace_id = v_ns
                        and i.id = e.source_id limit 1) s
    left join lateral (select i.name from loci_data.entities i where i.namespace_id = v_ns
                       and i.id = e.target_id limit 1) t on true
    where e.namespace_id = v_ns and e.id = any (v_chosen.ids || v_chosen.beside)
    order by s.name, t.name, e.id;
end $$;
comment on function loci.weak_edges(text, uuid[], integer) is
    'Edges that a pass may remove, and those beside them: below the protected confidence. Errors: 42501, P0002, 22023.';
