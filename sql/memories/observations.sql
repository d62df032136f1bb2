-- Observations that follow their memories: withdrawn, carried, released.

-- Trigger: memories were forgotten, restored, ended or corrected, and what rests on them follows in the same
-- transaction. An edge lasts no longer than its evidence (fold_spells). Forgotten ones no longer count as mentions or
-- observations of their entities, or do again; those that nothing else shows are hidden (hide_entities). Their
-- observations of edges are withdrawn, unless a memory that was made of one (carried_by) is
-- active, and come back with it; so do those that they carry for others. Edges, and what they had ended, are reckoned
-- anew: one without any other evidence holds at no moment, and known_at before still shows it. All of a statement at
-- once, a namespace after the other: an edge that thousands of them show is folded once. Locks as every writer:
-- entities by name, then edges by id. Memories that show nothing cost three look-ups each: memory_mentions,
-- edge_observations_memory, edge_observations_carried. Security definer: writes past the policies.
create or replace function loci_internal.sync_evidence_with_memories() returns trigger
language plpgsql volatile security definer set search_path = '' set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_turned record;
begin
    for v_turned in
        select n.namespace_id, max(n.believed_at) as at, array_agg(n.id) as ids,
               array_agg(case when n.status = o.status then 0 when n.status = 'active' then 1 else -1 end) as steps,
               array_agg(n.id) filter (where o.valid_to < coalesce(n.valid_to, 'infinity')) as longer
        from after n join before o on o.namespace_id = n.namespace_id and o.id = n.id
        where n.status <> o.status or n.valid_to is distinct from o.valid_to
        group by n.namespace_id order by n.namespace_id loop
        set local enable_nestloop = on;  -- was off for the join above; what is called goes by it
        if v_turned.longer is not null then
            perform loci_internal.release_ends(v_turned.namespace_id, v_turned.longer);
        end if;
        perform loci_internal.turn_evidence(v_turned.namespace_id, v_turned.ids, v_turned.steps, v_turned.at);
    end loop;
    return null;
end $$;
comment on function loci_internal.sync_evidence_with_memories() is
    'Trigger: withdraw what forgotten memories show, or bring it back.';

-- Observations that took over the end of their memory, as it was when they were written, state it no longer, now that
-- it ends later: from now on the memory itself says until when they hold. Index edge_observations_memory.
create or replace function loci_internal.release_ends(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.edge_observations o set valid_to = null
    from unnest(p_ids) u(id)
    cross join lateral (select x.* from loci_data.memories x where x.namespace_id = p_namespace_id
                        and x.id = u.id limit 1) m
    where o.namespace_id = p_namespace_id and o.memory_id = any (p_ids) and o.memory_id = u.id
      and o.valid_to < coalesce(m.valid_to, 'infinity')
      and o.valid_to = (select b.valid_to from loci_internal.memory_as_believed(
          m, greatest(o.recorded_at, m.recorded_at)) b)
$$;
comment on function loci_internal.release_ends(integer, uuid[]) is
    'Let observations hold as long as their memories, whose ends they had taken over.';

-- Observations of memories count from a moment on where p_steps has 1 for them, and no longer where it has -1; where
-- it has 0, the memories were ended or corrected, and are mentions as before.
create or replace function loci_internal.turn_evidence(p_namespace_id integer, p_ids uuid[], p_steps integer[],
                                                       p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
set enable_seqscan = off
as $$
declare
    v_shown uuid[] := array(
        select o.id from unnest(p_ids) u(id)
        cross join lateral (select v.id from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.memory_id = u.id offset 0) o
        union
        select o.id from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.carried_by && p_ids);
    v_edges    uuid[];
    v_named    record;
    v_standing jsonb := loci_internal.entities_standing_for(p_namespace_id, array(
        select m.entity_id from loci_data.memory_mentions m
        where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids)));
begin
    select coalesce(array_agg(t.entity_id), '{}') as ids, array_agg(t.mentions) as mentions,
           array_agg(t.observed) as observed,
           coalesce(array_agg(t.entity_id) filter (where t.mentions < 0 or t.observed < 0), '{}') as less
    into v_named
    from (select s.id as entity_id, coalesce(sum(u.step) filter (where s.id = m.entity_id), 0) as mentions,
                 coalesce(sum(u.step) filter (where m.observed), 0) as observed
          from unnest(p_ids, p_steps) u(id, step)
          cross join lateral (select x.entity_id, x.observed from loci_data.memory_mentions x
                              where x.namespace_id = p_namespace_id and x.memory_id = u.id offset 0) m
          cross join lateral (select coalesce((v_standing ->> m.entity_id::text)::uuid, m.entity_id) as id) s
          where u.step <> 0 group by s.id) t;
    if v_named.ids = '{}' and v_shown = '{}' then
        return;
    end if;
    v_edges := array(select distinct o.edge_id from loci_data.edge_observations o
                     where o.namespace_id = p_namespace_id and o.id = any (v_shown));
    perform from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = any (v_named.ids || array(
          select g.source_id from loci_data.edges g where g.namespace_id = p_namespace_id and g.id = any (v_edges)))
    order by e.canonical_name, e.id for no key update;
    perform loci_internal.add_to_entity_counts(p_namespace_id, v_named.ids, v_named.mentions, v_named.observed, p_at);
    set local enable_nestloop = on;  -- what is called goes by it
    set local plan_cache_mode = auto;
    perform loci_internal.hide_entities(p_namespace_id, v_named.less, p_at);
    perform loci_internal.withdraw_observations(p_namespace_id, v_shown, p_at);
    perform loci_internal.refold_edges(p_namespace_id, v_edges, p_at);
end $$;
comment on function loci_internal.turn_evidence(integer, uuid[], integer[], timestamptz) is
    'Let what memories show count from a moment on, or no longer.';

-- Entities have so many mentions and observations more, or less, never below 0; not those that were merged.
create or replace function loci_internal.add_to_entity_counts(p_namespace_id integer, p_ids uuid[], p_mentions bigint[],
                                                              p_observed bigint[], p_at timestamptz) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    update loci_data.entities e
    set mentions = greatest(e.mentions + t.mentions, 0), observations = greatest(e.observations + t.observed, 0),
        updated_at = greatest(e.updated_at, p_at)
    from (select u.* from unnest(p_ids, p_mentions, p_observed) u(id, mentions, observed)
          cross join lateral (select x.merged_into from loci_data.entities x where x.namespace_id = p_namespace_id
                              and x.id = u.id limit 1) x
          where x.merged_into is null) t
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = t.id;
end $$;
comment on function loci_internal.add_to_entity_counts(integer, uuid[], bigint[], bigint[], timestamptz) is
    'Change the counts of mentions and observations of entities.';

-- Mentions and observations of memories follow their status.
create or replace trigger memories_evidence after update on loci_data.memories
    referencing old table as before new table as after for each statement
    execute function loci_internal.sync_evidence_with_memories();

-- Observations count from a moment on if one of the memories that say so is active, and was not corrected (what was
-- never true, and was written so, still counts); else they do not. Only rows that change. Primary keys, a probe each;
-- joined by hash, because rows that are new have no statistics.
create or replace function loci_internal.withdraw_observations(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns void
language sql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
set enable_seqscan = off
as $$
    with stand as materialized (
        select v.id, exists (
                   select from unnest(v.memory_id || v.carried_by) s(id)
                   cross join lateral (select m.status, m.valid_from, m.valid_to from loci_data.memories m
                                       where m.namespace_id = p_namespace_id and m.id = s.id limit 1) m
                   where m.status = 'active' and (m.valid_to is distinct from m.valid_from or v.is_empty)
                   offset 0) as counts
        from unnest(p_ids) u(id)
        cross join lateral (select o.id, o.memory_id, o.carried_by, o.valid_to = o.valid_from as is_empty
                            from loci_data.edge_observations o
                            where o.namespace_id = p_namespace_id and o.id = u.id limit 1) v
    )
    update loci_data.edge_observations o
    set withdrawn = case when s.counts then nullif(o.withdrawn * tstzmultirange(tstzrange(null, p_at)), '{}')
                         else coalesce(o.withdrawn, '{}') + tstzmultirange(tstzrange(p_at, null)) end
    from stand s
    where o.namespace_id = p_namespace_id and o.id = any (p_ids) and o.id = s.id
      and s.counts = (upper_inf(o.withdrawn) is true)
$$;
comment on function loci_internal.withdraw_observations(integer, uuid[], timestamptz) is
    'Let observations count from a moment on, or no longer, as their memories stand.';

-- Memories that were made of others show what these showed, too: their observations, and those that they carry.
-- p_ids and p_made are pairs. Index edge_observations_memory, edge_observations_carried.
create or replace function loci_internal.carry_observations(p_namespace_id integer, p_ids uuid[], p_made uuid[])
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.edge_observations o set carried_by = coalesce(o.carried_by, '{}') || s.made
    from (select f.id, array_agg(distinct u.made) as made
          from unnest(p_ids, p_made) u(id, made)
          cross join lateral (
              select v.id from loci_data.edge_observations v
              where v.namespace_id = p_namespace_id and v.memory_id = u.id
              union
              select v.id from loci_data.edge_observations v
              where v.namespace_id = p_namespace_id and v.carried_by && array[u.id]) f
          group by f.id) s
    where o.namespace_id = p_namespace_id and o.id = s.id
$$;
comment on function loci_internal.carry_observations(integer, uuid[], uuid[]) is
    'Let observations of memories count while those that were made of them are active.';

-- Memories carry observations of others no longer. Returns these. Index edge_observations_carried.
create or replace function loci_internal.drop_carriers(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with dropped as (
        update loci_data.edge_observations o
        set carried_by = nullif(array(select c from unnest(o.carried_by) c where c <> all (p_ids)), '{}')
        where o.namespace_id = p_namespace_id and o.carried_by && p_ids
        returning o.id
    )
    select coalesce(array_agg(d.id), '{}') from dropped d
$$;
comment on function loci_internal.drop_carriers(integer, uuid[]) is
    'Let memories carry no observations of others; those that they carried.';

-- Observations count, or do not, as their memories stand now, and their edges follow. Primary keys.
create or replace function loci_internal.settle_observations(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at timestamptz := clock_timestamp();
begin
    perform loci_internal.withdraw_observations(p_namespace_id, p_ids, v_at);
    perform loci_internal.refold_edges(p_namespace_id, array(
        select distinct o.edge_id from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.id = any (p_ids)), v_at);
end $$;
comment on function loci_internal.settle_observations(integer, uuid[]) is
    'Bring observations and their edges in step with their memories.';
