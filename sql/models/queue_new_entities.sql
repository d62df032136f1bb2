-- Trigger, once per inserting statement: new entities wait for a vector of the active model, and of one that is being
-- filled; without one, nothing is done.
create or replace function loci_internal.queue_new_entities() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select a.namespace_id, a.id, m.id from loci_data.embedding_models m cross join added a
    where (m.active or m.filling) and a.merged_into is null;
    return null;
end $$;
comment on function loci_internal.queue_new_entities() is
    'Trigger: queue inserted entities for embedding.';

-- Trigger: what is embedded of an entity changed, so it waits for a new vector; one that was merged has none, and waits
-- for none. A refusal of the old text is forgotten. A row that a worker holds is not waited for: the worker compares
-- the text before it is done.
create or replace function loci_internal.queue_changed_entity() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if new.merged_into is not null then
        delete from loci_data.entity_vectors v where v.namespace_id = new.namespace_id and v.entity_id = new.id;
        return null;  -- a place in the queue stays: a worker may hold it, and drops it
    end if;
    delete from loci_data.entity_queue q where q.namespace_id = new.namespace_id and q.entity_id = new.id
        and q.error is not null;
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select new.namespace_id, new.id, m.id from loci_data.embedding_models m where m.active or m.filling
    on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.queue_changed_entity() is
    'Trigger: queue a changed entity for embedding; drop the vector of a merged one.';

-- Vectors follow entities: what is embedded of one (loci_internal.entity_embedding_text) waits in the queue in the same
-- transaction.
create or replace trigger entities_queued after insert on loci_data.entities
    referencing new table as added for each statement execute function loci_internal.queue_new_entities();

-- Vectors follow entities: what is embedded of one (loci_internal.entity_embedding_text) waits in the queue in the same
-- transaction.
create or replace trigger entities_requeued after update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases
                       or old.description is distinct from new.description or old.merged_into
                           is distinct from new.merged_into)
    execute function loci_internal.queue_changed_entity();
