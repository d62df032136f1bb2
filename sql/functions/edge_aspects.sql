-- Aspects that edges name: those of their sources, made where there is none by that name (rows G2, S1). The items again, with aspect_id.
-- An aspect that exists stays as it is. Index aspects_canonical_name_key. Called by write_edges when an item names one; internal.
create or replace function loci.edge_aspects(p_namespace_id integer, p_items loci.edge_input[], p_at timestamptz) returns loci.edge_input[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off  -- where there is a choice: the size of a batch is unknown to the planner
as $$
begin
    insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name, created_at, updated_at)
    select p_namespace_id, loci.uuid7(), a.source_id, a.aspect, a.canonical_name, p_at, p_at
    from (select distinct on (i.source_id, n.canonical_name) i.source_id, n.canonical_name, i.aspect
          from unnest(p_items) i cross join lateral (select loci.canonical_name(i.aspect)) n(canonical_name)
          where i.aspect is not null order by i.source_id, n.canonical_name, i.ordinal) a
    on conflict (namespace_id, entity_id, canonical_name) do nothing;
    return (select array_agg((i.ordinal, i.source, i.source_type, i.type, i.target, i.target_type, i.literal, i.aspect, i.confidence, i.strength,
                              i.session_id, i.memory_id, i.observed_at, i.valid_from, i.valid_to, i.metadata, i.seen_at, i.source_id,
                              i.target_id, a.id)::loci.edge_input order by i.ordinal)
            from unnest(p_items) i
            left join lateral (select a.id from loci_data.aspects a
                               where i.aspect is not null and a.namespace_id = p_namespace_id and a.entity_id = i.source_id
                                 and a.canonical_name = loci.canonical_name(i.aspect) offset 0) a on true);
end $$;
comment on function loci.edge_aspects(integer, loci.edge_input[], timestamptz) is 'Edges with the ids of the aspects that they name, made where they were not known. Internal.';
