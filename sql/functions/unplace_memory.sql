-- Trigger: when the last version of a lineage is deleted, its paths go; what stood under it becomes the top of its own tree.
create or replace function loci.unplace_memory() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if exists (select from loci_data.memories where namespace_id = old.namespace_id and lineage_id = old.lineage_id) then
        return null;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('loci.hierarchy', old.namespace_id));
    delete from loci_data.memory_closure c
    where c.namespace_id = old.namespace_id
      and c.descendant_id in (select descendant_id from loci_data.memory_closure
                              where namespace_id = old.namespace_id and ancestor_id = old.lineage_id)
      and c.ancestor_id in (select ancestor_id from loci_data.memory_closure
                            where namespace_id = old.namespace_id and descendant_id = old.lineage_id);
    delete from loci_data.memory_closure
    where namespace_id = old.namespace_id and old.lineage_id in (ancestor_id, descendant_id);
    delete from loci_data.lineages where namespace_id = old.namespace_id and lineage = old.lineage;
    return null;
end $$;
comment on function loci.unplace_memory() is 'Trigger: take a lineage without versions out of memory_closure and lineages.';
