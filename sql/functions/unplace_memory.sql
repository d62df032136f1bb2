-- Trigger: when the last version of a lineage is deleted, its places, links and counter go; what stood under it becomes the top of
-- its own tree, at every moment. Triggers of memory_placements take its paths out of the closure.
create or replace function loci.unplace_memory() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if exists (select from loci_data.memories where namespace_id = old.namespace_id and lineage_id = old.lineage_id)
       or not exists (select from loci_data.namespaces where id = old.namespace_id) then
        return null;
    end if;
    if exists (select from loci_data.memory_placements where namespace_id = old.namespace_id and node_id = old.lineage_id)
       or exists (select from loci_data.memory_placements where namespace_id = old.namespace_id and parent_id = old.lineage_id) then
        perform loci.lock_hierarchy(old.namespace_id, true);
    end if;
    delete from loci_data.memory_placements where namespace_id = old.namespace_id and node_id = old.lineage_id;
    delete from loci_data.memory_placements where namespace_id = old.namespace_id and parent_id = old.lineage_id;
    delete from loci_data.memory_links where namespace_id = old.namespace_id and source_id = old.lineage_id;
    delete from loci_data.memory_links where namespace_id = old.namespace_id and target_id = old.lineage_id;
    delete from loci_data.lineages where namespace_id = old.namespace_id and lineage = old.lineage;
    return null;
end $$;
comment on function loci.unplace_memory() is 'Trigger: take a lineage without versions out of the hierarchy, links and lineages.';
