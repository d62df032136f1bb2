-- Order of layers between parent and child.

-- A memory stands under its own layer or a broader one, never under a narrower. Compared are the latest versions of the
-- node, its parents and its children, now and later. Errors: 23514.
create or replace function loci_internal.check_layer_order(p_namespace_id integer, p_node uuid) returns void
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_wrong record;
begin
    select upper.id as upper_id, upper.layer as upper, lower.id as lower_id, lower.layer as lower into v_wrong
    from (select p.* from loci_data.memory_placements p where p.namespace_id = p_namespace_id and p.node_id = p_node
          union all
          select p.* from loci_data.memory_placements p where p.namespace_id = p_namespace_id
              and p.parent_id = p_node) p
    cross join lateral (select m.id, m.layer from loci_data.memories m where m.namespace_id = p_namespace_id
                        and m.lineage_id = p.parent_id
                        order by m.valid_from desc, m.version desc limit 1) upper
    cross join lateral (select m.id, m.layer from loci_data.memories m where m.namespace_id = p_namespace_id
                        and m.lineage_id = p.node_id
                        order by m.valid_from desc, m.version desc limit 1) lower
    where p.superseded_at is null and (p.valid_to is null or p.valid_to > clock_timestamp())
      and upper.layer > lower.layer
    limit 1;
    if found then
        raise check_violation using constraint = 'memory_placements_layer', column = 'layer',
            message = format(
                'memory %s (layer %s) cannot stand under memory %s (layer %s): the layer of a parent is the same or '
                'broader (0 domain, 1 concept, 2 fact, 3 episode)',
                             v_wrong.lower_id, v_wrong.lower, v_wrong.upper_id, v_wrong.upper);
    end if;
end $$;
comment on function loci_internal.check_layer_order(integer, uuid) is
    'Refuse a memory that stands under a narrower layer than its own.';

-- Trigger: the layer of a memory changed, by an update or by a new version: it must still fit what stands above and
-- below. A version in the layer of the one before costs one look-up and no lock.
create or replace function loci_internal.enforce_layer_order() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    if tg_op = 'INSERT' and exists (select from loci_data.memories m where m.namespace_id = new.namespace_id
                                    and m.lineage = new.lineage
                                    and m.version = new.version - 1 and m.layer = new.layer) then
        return null;
    end if;
    perform loci_internal.lock_hierarchy(new.namespace_id, true);
    perform loci_internal.check_layer_order(new.namespace_id, new.lineage_id);
    return null;
end $$;
comment on function loci_internal.enforce_layer_order() is
    'Trigger: check a changed layer against parent and children.';

-- The closure follows the placements, and placements follow memories, in the same transaction.
create or replace trigger memories_layer_added after insert on loci_data.memories
    for each row when (new.version > 1) execute function loci_internal.enforce_layer_order();

create or replace trigger memories_layer_changed after update on loci_data.memories
    for each row when (old.layer <> new.layer) execute function loci_internal.enforce_layer_order();
