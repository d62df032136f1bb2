-- Trigger: words of a memory changed (content, tags, category, who, when), so its entries are taken out and put in anew.
create or replace function loci.index_changed_memory() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci.unpost_document(old);
    perform loci.post_documents(new.namespace_id, array[new.id]);
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id)
    select new.namespace_id, new.id, m.id from loci_data.embedding_models m where m.active or m.filling
    on conflict do nothing;
    return null;
end $$;
comment on function loci.index_changed_memory() is 'Trigger: re-index a memory whose indexed text changed.';
