-- Trigger, once per inserting statement: new entities wait for a vector of the active model; without one, nothing is done.
create or replace function loci.queue_entities() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    if v_model is not null then
        insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
        select a.namespace_id, a.id, v_model from added a where a.merged_into is null;
    end if;
    return null;
end $$;
comment on function loci.queue_entities() is 'Trigger: queue inserted entities for embedding.';
