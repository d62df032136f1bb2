-- How many entities are new since a moment because these memories name them, or are ends of edges that they state? Two
-- look-ups a memory (memory_mentions, edge_observations_memory), two an edge; planned for any namespace.
create or replace function loci_internal.count_new_entities(p_namespace_id integer, p_memory_ids uuid[],
                                                            p_at timestamptz) returns integer
language sql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
    select count(distinct e.id)::integer
    from unnest(p_memory_ids) u(id)
    cross join lateral (
        select m.entity_id from loci_data.memory_mentions m
        where m.namespace_id = p_namespace_id and m.memory_id = u.id
        union all
        select v.id from loci_data.edge_observations o
        join loci_data.edges g on g.namespace_id = p_namespace_id and g.id = o.edge_id
        cross join lateral (values (g.source_id), (g.target_id)) v(id)
        where o.namespace_id = p_namespace_id and o.memory_id = u.id offset 0) n
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id and e.created_at >= p_at
$$;
comment on function loci_internal.count_new_entities(integer, uuid[], timestamptz) is
    'Entities that are new since a moment because memories name them.';
