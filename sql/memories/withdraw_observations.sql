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
