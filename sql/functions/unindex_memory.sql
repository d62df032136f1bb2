-- Trigger: a deleted memory leaves no posting, no count and no waiting job behind.
create or replace function loci.unindex_memory() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if exists (select from loci_data.namespaces where id = old.namespace_id) then
        perform loci.unpost_document(old);
        delete from loci_data.embedding_queue where namespace_id = old.namespace_id and memory_id = old.id;
        delete from loci_data.name_queue where namespace_id = old.namespace_id and memory_id = old.id;
    end if;
    return null;
end $$;
comment on function loci.unindex_memory() is 'Trigger: remove a deleted memory from the lexical index and the embedding queue.';
