-- Trigger: before what an entity says of itself changes, what was believed until now is kept, so that known_at can be answered
-- for every moment. The change's own time, updated_at, ends the old belief. One probe of the primary key of entity_beliefs.
create or replace function loci.keep_entity_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((select max(b.believed_to) from loci_data.entity_beliefs b
                                     where b.namespace_id = old.namespace_id and b.entity_id = old.id), old.created_at);
begin
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.entity_beliefs (namespace_id, entity_id, name, canonical_name, type, aliases, description, metadata,
                                          pinned_at, first_seen_at, merged_into, believed_at, believed_to)
    values (old.namespace_id, old.id, old.name, old.canonical_name, old.type, old.aliases, old.description, old.metadata,
            old.pinned_at, old.first_seen_at, old.merged_into, v_since, new.updated_at);
    return new;
end $$;
comment on function loci.keep_entity_belief() is 'Trigger: keep the ending belief about an entity in entity_beliefs.';
