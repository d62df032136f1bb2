-- First half of writing edges: insert the triples that are new, each as its first item states it, and say which edge every item
-- means. Ids follow the order of the items, which is the order of discovery; rows are inserted in order of the triple, and
-- existing edges locked in order of id, so that writers of the same edges take turns. Uses indexes edges_triple, edges_literal.
-- Called by save_edges; internal. Errors: 22023, 23503 (entity), 23514, 40001 (deleted by another at this moment).
create or replace function loci.add_edges(p_namespace_id integer, p_edges jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, created boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off  -- where there is a choice: the size of a batch is unknown to the planner
as $$
declare
    v_settings jsonb := loci.settings(p_namespace_id);
    v_rate     double precision := v_settings ->> 'decay_rate';
    v_rates    jsonb := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
                         where t.namespace_id = p_namespace_id and t.decay_rate is not null);
    v_limit    double precision := v_settings ->> 'edge_threshold';
    v_created  uuid[];
    v_found    integer;
begin
    with item as materialized (
        select distinct on (i.source_id, i.type, i.target_id, i.literal) i.*
        from loci.parse_edges(p_edges, p_at) i
        order by i.source_id, i.type, i.target_id, i.literal, i.ordinal
    ), fresh as materialized (
        select loci.uuid7() as id, n.*
        from (select i.* from item i
              where loci.edge_id(p_namespace_id, i.source_id, i.type, i.target_id, i.literal) is null
              order by i.ordinal) n
    ), added as (
        insert into loci_data.edges (namespace_id, id, source_id, type, target_id, literal, confidence, initial_confidence, strength,
                                first_observed_at, last_observed_at, fades_at, valid_from, valid_to, recorded_at, metadata, updated_at)
        select p_namespace_id, f.id, f.source_id, f.type, f.target_id, f.literal, f.confidence, f.confidence, coalesce(f.strength, 0.5),
               f.observed_at, f.observed_at, loci.fades_at(f.confidence, coalesce((v_rates ->> f.type)::double precision, v_rate),
                                                       f.observed_at, v_limit),
               coalesce(f.valid_from, f.observed_at), f.valid_to, p_at, coalesce(f.metadata, '{}'), p_at
        from fresh f
        order by f.source_id, f.type, f.target_id, f.literal
        on conflict do nothing
        returning edges.id
    )
    select array_agg(a.id) into v_created from added a;

    return query
    with item as materialized (
        select i.ordinal, loci.edge_id(p_namespace_id, i.source_id, i.type, i.target_id, i.literal) as edge_id
        from loci.parse_edges(p_edges, p_at) i
    ), known as materialized (
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.superseded_at is null
          and e.id = any(array(select i.edge_id from item i except select unnest(v_created)))
        order by e.id
        for no key update
    )
    select i.ordinal, coalesce(k.id, c.id), c.id is not null and row_number() over (partition by i.edge_id order by i.ordinal) = 1
    from item i left join known k on k.id = i.edge_id left join unnest(v_created) c(id) on c.id = i.edge_id
    where coalesce(k.id, c.id) is not null;
    get diagnostics v_found = row_count;
    if v_found < jsonb_array_length(p_edges) then
        raise serialization_failure using message = 'an edge was deleted while it was observed', hint = 'Try again.';
    end if;
end $$;
comment on function loci.add_edges(integer, jsonb, timestamptz) is 'Insert the new triples among observed edges; the edge of each item, and whether it is new. Internal.';
