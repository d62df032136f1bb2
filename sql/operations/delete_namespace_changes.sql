-- Trigger: the feed of a namespace goes with it, which foreign keys would see to at a higher price. Writers hold the
-- namespace's row to their end, and deleting it waits for them, so that nothing comes after; loci_api.delete_namespace
-- holds the sequencer off.
create or replace function loci_internal.delete_namespace_changes() returns trigger
language plpgsql volatile
as $$
begin
    delete from loci_data.outbox where namespace_id = old.id;
    delete from loci_data.changes where namespace_id = old.id;
    return null;
end $$;
comment on function loci_internal.delete_namespace_changes() is
    'Trigger: delete the changes of a namespace that was deleted.';
