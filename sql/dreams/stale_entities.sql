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
