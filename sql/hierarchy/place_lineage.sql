-- Put a node under a parent (null: under none) for a stretch of valid time, from p_at on; the rest of its places stays.
-- Believed placements that the stretch touches end, what of them lies outside of it is written anew, and so is the new
-- place. Nothing happens where it stands there already. The caller holds the hierarchy's lock. If other moves were
-- recorded after p_at (the clock went back, or they were quicker), the moment is just after them. Errors: 23000
-- (cycle), 23514.
create or replace function loci_internal.place_lineage(
    p_namespace_id integer, p_node uuid, p_parent uuid, p_from timestamptz, p_to timestamptz, p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_at   timestamptz;
    v_gone loci_data.memory_placements[];
begin
    if p_to <= p_from then
        return;
    end if;
    select array_agg(p) into v_gone from loci_data.memory_placements p
    where p.namespace_id = p_namespace_id and p.node_id = p_node and p.superseded_at is null
      and loci_internal.periods_overlap(p.valid_from, p.valid_to, p_from, p_to);
    if p_parent is null and v_gone is null or cardinality(v_gone) = 1 and v_gone[1].parent_id = p_parent
       and v_gone[1].valid_from <= p_from and (v_gone[1].valid_to is null or v_gone[1].valid_to >= p_to) then
        return;
    end if;
    select greatest(p_at, max(greatest(c.recorded_at, c.superseded_at)) + interval '1 microsecond') into v_at
    from (select recorded_at, superseded_at from loci_data.memory_placements where namespace_id = p_namespace_id
          and node_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and ancestor_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and descendant_id = p_node
          union all
          select recorded_at, superseded_at from loci_data.memory_closure where namespace_id = p_namespace_id
              and descendant_id = p_parent) c;
    update loci_data.memory_placements p set superseded_at = v_at
    from unnest(v_gone) g
    where p.namespace_id = p_namespace_id and p.node_id = p_node and p.recorded_at = g.recorded_at
      and p.valid_from = g.valid_from;
    insert into loci_data.memory_placements (namespace_id, node_id, parent_id, valid_from, valid_to, recorded_at)
    select p_namespace_id, p_node, g.parent_id, g.valid_from, p_from, v_at from unnest(v_gone) g
    where g.valid_from < p_from
    union all
    select p_namespace_id, p_node, g.parent_id, p_to, g.valid_to, v_at from unnest(v_gone) g
    where g.valid_to > p_to or p_to is not null and g.valid_to is null
    union all
    select p_namespace_id, p_node, p_parent, p_from, p_to, v_at where p_parent is not null;
end $$;
comment on function loci_internal.place_lineage(integer, uuid, uuid, timestamptz, timestamptz, timestamptz) is
    'Put a lineage under another for a stretch of valid time.';
