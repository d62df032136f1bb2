-- Trigger: the layer of a memory changed, by an update or by a new version: it must still fit what stands above and below.
-- A version in the layer of the one before costs one look-up and no lock.
create or replace function loci.keep_layers() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    if tg_op = 'INSERT' and exists (select from loci_data.memories m where m.namespace_id = new.namespace_id and m.lineage = new.lineage
                                    and m.version = new.version - 1 and m.layer = new.layer) then
        return null;
    end if;
    perform loci.lock_hierarchy(new.namespace_id, true);
    perform loci.check_layers(new.namespace_id, new.lineage_id);
    return null;
end $$;
comment on function loci.keep_layers() is 'Trigger: check a changed layer against parent and children.';
