-- Trigger, once per inserting statement: index the new memories by words at once, and queue them for vectors and names.
create or replace function loci.index_added_memories() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci.post_documents(a.namespace_id, array_agg(a.id)) from added a group by a.namespace_id;
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id)
    select a.namespace_id, a.id, m.id from added a cross join loci_data.embedding_models m where m.active or m.filling;
    insert into loci_data.name_queue (namespace_id, memory_id) select a.namespace_id, a.id from added a;
    return null;
end $$;
comment on function loci.index_added_memories() is 'Trigger: index inserted memories and queue them for embedding.';
