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
