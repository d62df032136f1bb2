-- New edges, and the edge that a statement is about.

-- First half of writing edges: insert the triples that are new, each as its first item states it, with that item as its
-- evidence, and say which edge every item means. Ids follow the order of the items, which is the order of discovery; an
-- edge has the id of its first observation. Rows are inserted in order of the
-- triple, and existing edges locked in order of id, so that writers of the same edges take turns. Indexes edges_triple,
-- edges_literal. Errors: 22023 (it ended before anybody said since when it held), 23503
-- (entity, memory), 23514, 40001 (deleted by another at this moment).
create or replace function loci_internal.insert_edges(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                      p_at timestamptz)
returns table (ordinal integer, id uuid, created boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_rates record;
    v_ids   uuid[];
    v_new   uuid[];
    v_first integer[];  -- the first item of the same triple
    v_wrong integer;
begin
    v_rates := loci_internal.lock_decay_rates(p_namespace_id);
    with item as materialized (
        select i.*, min(i.ordinal) over (partition by i.source_id, i.type, i.target_id, i.literal) as first
        from unnest(p_items) i
    ), found as materialized (  -- find_edge_id, written out: as a function it takes twice as long
        select i.ordinal, coalesce(t.id, l.id) as id
        from item i
        left join lateral (select e.id from loci_data.edges e
                           where e.namespace_id = p_namespace_id and e.source_id = i.source_id
                             and e.target_id is not null and e.superseded_at is null
                             and (e.type, e.target_id) >= (i.type, i.target_id)
                             and (e.type, e.target_id) <= (i.type, i.target_id) offset 0) t on true
        left join lateral (select e.id from loci_data.edges e
                           where i.literal is not null and e.namespace_id = p_namespace_id
                             and e.source_id = i.source_id and e.literal is not null
                             and e.superseded_at is null and (e.type, md5(e.literal)) >= (i.type, md5(i.literal))
                             and (e.type, md5(e.literal)) <= (i.type, md5(i.literal)) offset 0) l on true
        where i.ordinal = i.first
    ), fresh as materialized (
        select i.*, coalesce(i.confidence, 1.0) as given, coalesce(i.valid_from, i.observed_at) as starts
        from item i join found f on f.ordinal = i.ordinal where f.id is null
    ), added as (
        insert into loci_data.edges (namespace_id, id, source_id, type, target_id, literal, confidence,
                                     initial_confidence, strength, aspect_id,
                                     first_observed_at, last_observed_at, restored_at, fades_at, valid_from, valid_to,
                                     recorded_at, metadata, updated_at)
        select p_namespace_id, f.id, f.source_id, f.type, f.target_id, f.literal, f.given, f.given,
               coalesce(f.strength, 0.5), f.aspect_id,
               f.observed_at, f.observed_at, f.observed_at,
               loci.fades_at(f.given, coalesce((v_rates.rates ->> f.type)::double precision, v_rates.rate),
                                                       f.observed_at, v_rates.threshold),
               f.starts, f.valid_to, p_at, coalesce(f.metadata, '{}'), p_at
        from fresh f
        where f.valid_to < f.starts is not true
        order by f.source_id, f.type, f.target_id, f.literal
        on conflict do nothing
        returning edges.id
    ), noted as (
        insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at,
                                                 valid_from, valid_to, confidence, reinforcement, recorded_at, by_day)
        select p_namespace_id, f.id, f.id, f.memory_id, f.session_id, f.observed_at, f.valid_from, f.valid_to, f.given,
               v_rates.reinforcement, p_at, true
        from fresh f join added a on a.id = f.id
    )
    select array_agg(coalesce(f.id, a.id) order by i.ordinal), array_agg(a.id order by i.ordinal),
           array_agg(i.first order by i.ordinal), min(n.ordinal) filter (where n.valid_to < n.starts)
    into v_ids, v_new, v_first, v_wrong
    from item i
    join found f on f.ordinal = i.first
    left join fresh n on n.ordinal = i.first
    left join added a on a.id = n.id;

    if v_wrong is not null then
        raise invalid_parameter_value using column = format('edges[%s].valid_from', v_wrong - 1),
            message = format('edges[%s].valid_from is needed: the edge is new, and ended (%s) before it was observed',
                             v_wrong - 1, p_items[v_wrong].valid_to);
    end if;
    if array_position(v_ids, null) is not null then  -- another writer was quicker
        v_ids := array(
            select coalesce(v_ids[i.ordinal],
                            loci_internal.find_edge_id(p_namespace_id, i.source_id, i.type, i.target_id, i.literal))
            from unnest(p_items) i order by i.ordinal);
    end if;
    perform loci_internal.lock_edges(p_namespace_id, array(
        select distinct u.id from unnest(v_ids, v_new) u(id, new) where u.new is null));
    return query select i.ordinal, v_ids[i.ordinal], v_new[i.ordinal] is not null and v_first[i.ordinal] = i.ordinal
        from unnest(p_items) i;
end $$;
comment on function loci_internal.insert_edges(integer, loci_internal.edge_input[], timestamptz) is
    'Insert the new triples among observed edges, with their evidence; the edge of each item, and whether it is new.';

-- Lock believed edges in order of id, as every writer. Errors: 40001 (one was deleted by another at this moment).
create or replace function loci_internal.lock_edges(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile
as $$
declare
    v_found bigint;
begin
    if p_ids = '{}' then
        return;
    end if;
    perform from loci_data.edges e
    where e.namespace_id = p_namespace_id and e.superseded_at is null and e.id = any(p_ids) order by e.id
    for no key update;
    get diagnostics v_found = row_count;
    if v_found < cardinality(p_ids) then
        raise serialization_failure using message = 'an edge was deleted while it was observed',
            hint = 'Try again.';
    end if;
end $$;
comment on function loci_internal.lock_edges(integer, uuid[]) is
    'Lock believed edges. Errors: 40001.';

-- After edges were written: refuse an end stated alone for an edge that begins only later, as insert_edges does for an
-- unknown edge. p_ids: edges, by the ordinal of items. Primary keys, of such items alone. Errors: 22023.
create or replace function loci_internal.refuse_ends_before_edges(
    p_namespace_id integer, p_items loci_internal.edge_input[], p_ids uuid[]) returns void
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
declare
    v_wrong record;
begin
    if not exists (select from unnest(p_items) i where i.valid_from is null and i.valid_to <= i.observed_at) then
        return;
    end if;
    select i.ordinal - 1 as place, i.valid_to, e.valid_from into v_wrong
    from unnest(p_items) i
    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = p_ids[i.ordinal]
    where i.valid_from is null and i.valid_to <= i.observed_at
      and (e.valid_from >= i.valid_to or e.valid_to = e.valid_from)
    order by i.ordinal limit 1;
    if found then
        raise invalid_parameter_value using column = format('edges[%s].valid_from', v_wrong.place),
            message = format('edges[%s].valid_from is needed: it ended (%s) before the edge began (%s)', v_wrong.place,
                             v_wrong.valid_to, v_wrong.valid_from);
    end if;
end $$;
comment on function loci_internal.refuse_ends_before_edges is
    'Refuse ends that were stated of edges which begin only later. Errors: 22023.';

-- Which edge, of those believed now, is this triple? One look-up in edges_triple or edges_literal. Type and target are
-- compared as a row, because as plain equalities a planner without statistics (the first import into a new database)
-- takes edges_type instead, and reads every edge of the type.
create or replace function loci_internal.find_edge_id(p_namespace_id integer, p_source_id uuid, p_type text,
                                                      p_target_id uuid, p_literal text)
returns uuid
language sql stable parallel safe
as $$
    select case when p_literal is null
        then (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.target_id is not null
                and e.superseded_at is null
                and (e.type, e.target_id) >= (p_type, p_target_id)
                and (e.type, e.target_id) <= (p_type, p_target_id))
        else (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.literal is not null
                and e.superseded_at is null
                and (e.type, md5(e.literal)) >= (p_type, md5(p_literal))
                and (e.type, md5(e.literal)) <= (p_type, md5(p_literal))) end
$$;
comment on function loci_internal.find_edge_id(integer, uuid, text, uuid, text) is
    'Id of the believed edge with this source, type and target or literal; null if there is none.';

-- Which edge stands for this one now? Itself while it is believed; else the one of the same triple that has some of its
-- evidence, because merging and undoing record edges anew; null: none does. One made by a new observation is another
-- edge, whatever it says. Primary key, edges_triple or edges_literal, edge_observations_edge.
create or replace function loci_internal.current_edge_id(p_namespace_id integer, p_id uuid) returns uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select case when e.superseded_at is null then e.id else (
        select t.id
        from (select loci_internal.find_edge_id(p_namespace_id,
                                                loci_internal.surviving_entity_id(p_namespace_id, e.source_id), e.type,
                                              loci_internal.surviving_entity_id(p_namespace_id, e.target_id),
                                              e.literal) as id offset 0) t
        where exists (select from loci_data.edge_observations a
                      join loci_data.edge_observations b on b.namespace_id = p_namespace_id and b.edge_id = t.id
                           and coalesce(b.origin_id, b.id) = coalesce(a.origin_id, a.id)
                      where a.namespace_id = p_namespace_id and a.edge_id = e.id)
           or t.id is not null and not exists (select from loci_data.edge_observations a
                                               where a.namespace_id = p_namespace_id and a.edge_id = e.id)) end
    from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci_internal.current_edge_id(integer, uuid) is
    'The believed edge that an edge is now, over whatever recorded it anew; null if there is none.';
