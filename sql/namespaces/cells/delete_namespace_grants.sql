-- Trigger: grants and invitations go with their namespace. There is no foreign key, because every cell has the grants
-- of all.
create or replace function loci_internal.delete_namespace_grants() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    delete from loci_data.grants g where g.namespace_id = old.id;
    delete from loci_data.invitations i where i.namespace_id = old.id;
    return null;
end $$;
comment on function loci_internal.delete_namespace_grants() is
    'Trigger: delete the grants and invitations of a namespace that was deleted.';

create or replace trigger namespaces_grants after delete on loci_data.namespaces
    for each row execute function loci_internal.delete_namespace_grants();
