-- Trigger: postings go with their namespace, which a foreign key would see to at a higher price: it locks the row of
-- the namespace for each word of a text. A writer of postings holds that row, or one of a memory, to the end, and
-- deleting the namespace waits for both; the name begins with zz, so that it comes behind the cascades.
create or replace function loci_internal.delete_namespace_postings() returns trigger
language plpgsql volatile
as $$
begin
    delete from loci_data.postings where namespace_id = old.id;
    return null;
end $$;
comment on function loci_internal.delete_namespace_postings() is
    'Trigger: delete the postings of a namespace that was deleted.';

-- The lexical index goes with its namespace.
create or replace trigger zz_namespaces_postings after delete on loci_data.namespaces
    for each row execute function loci_internal.delete_namespace_postings();
