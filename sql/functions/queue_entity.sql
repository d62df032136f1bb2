-- Trigger: what is embedded of an entity changed, so it waits for a new vector; one that was merged has none, and waits for none.
-- A refusal of the old text is forgotten. A row that a worker holds is not waited for: the worker compares the text before it is done.
create or replace function loci.queue_entity() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if new.merged_into is not null then
        delete from loci_data.entity_vectors v where v.namespace_id = new.namespace_id and v.entity_id = new.id;
        return null;  -- a place in the queue stays: a worker may hold it, and drops it
    end if;
    delete from loci_data.entity_queue q where q.namespace_id = new.namespace_id and q.entity_id = new.id and q.error is not null;
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select new.namespace_id, new.id, m.id from loci_data.embedding_models m where m.active or m.filling
    on conflict do nothing;
    return null;
end $$;
comment on function loci.queue_entity() is 'Trigger: queue a changed entity for embedding; drop the vector of a merged one.';
