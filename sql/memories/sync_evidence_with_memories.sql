-- Trigger: a memory was forgotten or restored, and what rests on it follows in the same transaction. It no longer
-- counts as a mention or an observation of its entities, or does again; those that nothing else shows are hidden
-- (hide_entities). Its observations of edges are withdrawn, unless a memory that
-- was made of it (carried_by) is active, and come back with it; so do those that it carries for others. Edges, and
-- what they had ended, are reckoned anew: one without any other evidence holds at no moment, and known_at before still
-- shows it. Locks as every writer: entities by name, then edges by id. A memory that shows nothing costs three
-- look-ups: memory_mentions, edge_observations_memory, edge_observations_carried. Security definer: writes past the
-- policies.
create or replace function loci_internal.sync_evidence_with_memory() returns trigger
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_step      constant integer := case new.status when 'active' then 1 else -1 end;
    v_mentioned uuid[] := array(select m.entity_id from loci_data.memory_mentions m
                                where m.namespace_id = new.namespace_id and m.memory_id = new.id);
    v_observed  uuid[] := array(select m.entity_id from loci_data.memory_mentions m
                                where m.namespace_id = new.namespace_id and m.memory_id = new.id and m.observed);
    v_shown     uuid[] := array(
        select o.id from loci_data.edge_observations o
        where o.namespace_id = new.namespace_id and o.memory_id = new.id
        union
        select o.id from loci_data.edge_observations o
        where o.namespace_id = new.namespace_id and o.carried_by && array[new.id]);
    v_edges     uuid[];
begin
    if v_mentioned = '{}' and v_shown = '{}' then
        return null;
    end if;
    v_edges := array(select distinct o.edge_id from loci_data.edge_observations o
                     where o.namespace_id = new.namespace_id and o.id = any (v_shown));
    perform from loci_data.entities e
    where e.namespace_id = new.namespace_id and e.id = any (v_mentioned || array(
          select g.source_id from loci_data.edges g where g.namespace_id = new.namespace_id and g.id = any (v_edges)))
    order by e.canonical_name, e.id for no key update;
    update loci_data.entities e
    set mentions = greatest(e.mentions + v_step, 0),
        observations = greatest(e.observations + case when e.id = any (v_observed) then v_step else 0 end, 0),
        updated_at = greatest(e.updated_at, new.believed_at)
    where e.namespace_id = new.namespace_id and e.id = any (v_mentioned) and e.merged_into is null;
    if v_step < 0 then
        perform loci_internal.hide_entities(new.namespace_id, v_mentioned, new.believed_at);
    end if;
    perform loci_internal.withdraw_observations(new.namespace_id, v_shown, new.believed_at);
    perform loci_internal.refold_edges(new.namespace_id, v_edges, new.believed_at);
    return null;
end $$;
comment on function loci_internal.sync_evidence_with_memory() is
    'Trigger: withdraw what a forgotten memory shows, or bring it back.';

-- Observations count from a moment on if one of the memories that say so is active, and else do not. Only rows that
-- change.
create or replace function loci_internal.withdraw_observations(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.edge_observations o
    set withdrawn = case when s.counts then nullif(o.withdrawn * tstzmultirange(tstzrange(null, p_at)), '{}')
                         else coalesce(o.withdrawn, '{}') + tstzmultirange(tstzrange(p_at, null)) end
    from (select v.id, exists (select from loci_data.memories m
                               where m.namespace_id = p_namespace_id and m.id = any (v.memory_id || v.carried_by)
                                 and m.status = 'active') as counts
          from loci_data.edge_observations v where v.namespace_id = p_namespace_id and v.id = any (p_ids) offset 0) s
    where o.namespace_id = p_namespace_id and o.id = any (p_ids) and o.id = s.id
      and s.counts = (upper_inf(o.withdrawn) is true)
$$;
comment on function loci_internal.withdraw_observations(integer, uuid[], timestamptz) is
    'Let observations count from a moment on, or no longer, as their memories stand.';

-- What memories show is shown by others that were made of them, too: their observations, and those that they carry.
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

-- A memory's mentions and observations follow its status.
create or replace trigger memories_evidence after update on loci_data.memories
    for each row when (old.status is distinct from new.status)
    execute function loci_internal.sync_evidence_with_memory();
