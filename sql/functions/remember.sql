-- Write memories: the one way in, for one item or thousands. All or nothing: one transaction.
-- Named lineages are locked first, in order of name; only then is the clock read, so that the order of versions is the
-- order of the locks. A place in the hierarchy comes after the versions. Items of one lineage in a batch follow each other in rounds. Graph parts of items come last.
-- A batch is planned for its size and the tables'; a few items use generic plans of index look-ups (planning took longer than they do).
-- Cost: a handful of set-based statements; the triggers index words in the same transaction (rows M1, M2, M4, M10, G4).
-- Errors: 42501, P0002 (namespace), 22023 / 23514 (a field), 23503 (parent_id), P0001 (cycle).
create or replace function loci.remember(p_namespace text, p_items jsonb)
returns table (ordinal integer, id uuid, superseded uuid, duplicate boolean)
language plpgsql volatile security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_items    loci.memory_input[] := loci.parse_memories(v_ns, p_items);
    v_outcomes loci.memory_outcome[] := '{}';
    v_round    record;
    v_at       timestamptz;
begin
    if cardinality(v_items) > 20 then
        set local plan_cache_mode = force_custom_plan;
    end if;
    insert into loci_data.lineages as l (namespace_id, lineage, id, versions)
    select distinct on (i.lineage) v_ns, i.lineage, i.id, 0 from unnest(v_items) i where i.lineage is not null
    order by i.lineage, i.ordinal
    on conflict (namespace_id, lineage) do update set versions = l.versions;
    if found then  -- the name may be the id of a memory without one; asked only now, because an erasure may have held the lock
        update loci_data.lineages l set id = m.lineage_id, versions = m.version, written_at = m.recorded_at
        from (select distinct u.lineage from unnest(v_items) u where u.lineage is not null) i
        cross join lateral (select o.lineage_id, o.version, o.recorded_at from loci_data.memories o
                            where o.namespace_id = v_ns and o.lineage = i.lineage order by o.version desc limit 1) m
        where l.namespace_id = v_ns and l.lineage = i.lineage and l.versions = 0;
    end if;
    v_at := clock_timestamp();

    select coalesce(array_agg(o), '{}') into v_outcomes from loci.add_memories(v_ns, v_items, v_at) o;
    for v_round in
        select i.round, array_agg(i order by i.ordinal) as items from unnest(v_items) i
        where i.lineage is not null group by i.round order by i.round
    loop
        perform set_config('plan_cache_mode', case when cardinality(v_round.items) > 20 then 'force_custom_plan' else 'force_generic_plan' end, true);
        v_outcomes := v_outcomes || array(
            select o from loci.supersede_memories(v_ns, v_round.items, v_at + (v_round.round - 1) * interval '1 microsecond') o);
    end loop;

    if exists (select from unnest(v_items) i where i.parent_id is not null) then
        perform loci.place_memories(v_ns, v_items, v_outcomes);
    end if;
    perform loci.store_vectors(v_ns, array_agg(o.id), array_agg(i.embedding::halfvec))
    from unnest(v_items) i join unnest(v_outcomes) o on o.ordinal = i.ordinal and not o.duplicate
    where i.embedding is not null having count(*) > 0;
    perform loci.remember_graph(v_ns, p_items, v_outcomes, v_at);
    return query select o.ordinal, o.id, o.superseded, o.duplicate from unnest(v_outcomes) o order by o.ordinal;
end $$;
comment on function loci.remember(text, jsonb) is 'Write memories (JSON array of items) in one transaction: new rows, new versions of lineages, or reinforced duplicates. Returns one row an item, in order.';
