-- Write observed edges with all that belongs to them (row G4, seed D's txPersistEntities): both entities, what the observation does to
-- them, mentions of the memory that showed it, the aspect, the edge and its evidence. In the caller's transaction, whatever else that
-- does; nothing is counted twice for one memory. Of a type with one target at a time, a new edge ends the one before it. Set-based, for one or thousands. One row an item, ordinal from 1, in order.
-- Locks: entities in order of canonical_name, then edges in order of id. Called by observe_edges and remember_graph; internal.
-- Errors: P0002 (entity id), 22023, 23503 (memory), 23514, 40001.
create or replace function loci.write_edges(p_namespace_id integer, p_items loci.edge_input[], p_at timestamptz)
returns table (ordinal integer, id uuid, source_id uuid, target_id uuid, created boolean, restored boolean)
language plpgsql volatile set search_path = ''
as $$
declare
    v_items    loci.edge_input[];
    v_ids      uuid[];
    v_created  boolean[];
    v_restored integer[] := '{}';
    v_before   loci_data.edges[];  -- null: no type has one target at a time
begin
    if cardinality(p_items) = 0 then
        return;
    end if;
    v_items := loci.edge_ends(p_namespace_id, p_items, p_at);
    perform loci.observe_entities(p_namespace_id, array_agg((e.id, i.memory_id, i.session_id, null, i.seen_at, e.name)::loci.sighting), p_at)
    from unnest(v_items) i cross join lateral (values (i.source_id, i.source), (i.target_id, i.target)) e(id, name)
    where e.id is not null;
    if exists (select from unnest(v_items) i where i.aspect is not null) then
        v_items := loci.edge_aspects(p_namespace_id, v_items, p_at);
    end if;
    v_before := loci.lock_single_valued(p_namespace_id, v_items);
    select array_agg(a.id order by a.ordinal), array_agg(a.created order by a.ordinal) into v_ids, v_created
    from loci.add_edges(p_namespace_id, v_items, p_at) a;
    if false = any (v_created) then
        v_restored := loci.reinforce_edges(p_namespace_id, array(select i from unnest(v_items) i where not v_created[i.ordinal] order by i.ordinal),
                                           v_ids, p_at);
    end if;
    if v_before is not null then
        perform loci.end_single_valued(p_namespace_id, v_items, v_ids, v_before, p_at);
    end if;
    return query
    select i.ordinal, v_ids[i.ordinal], i.source_id, i.target_id, v_created[i.ordinal], r.ordinal is not null
    from unnest(v_items) i left join unnest(v_restored) r(ordinal) on r.ordinal = i.ordinal
    order by i.ordinal;
end $$;
comment on function loci.write_edges(integer, loci.edge_input[], timestamptz) is 'Write observed edges with their entities, mentions, aspects and evidence. Internal.';
