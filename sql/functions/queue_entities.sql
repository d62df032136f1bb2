-- Trigger, once per inserting statement: new entities wait for a vector of the active model, and of one that is being filled; without one, nothing is done.
create or replace function loci.queue_entities() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select a.namespace_id, a.id, m.id from loci_data.embedding_models m cross join added a
    where (m.active or m.filling) and a.merged_into is null;
    return null;
end $$;
comment on function loci.queue_entities() is 'Trigger: queue inserted entities for embedding.';
