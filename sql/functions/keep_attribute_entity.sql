-- Trigger: an attribute names the entity of its aspect, whoever writes it, so that all constraints of an entity are one range of
-- an index. The aspect is locked as the foreign key will lock it anyway: one that moves to another entity meanwhile is waited for.
create or replace function loci.keep_attribute_entity() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    new.entity_id := coalesce((select a.entity_id from loci_data.aspects a
                               where a.namespace_id = new.namespace_id and a.id = new.aspect_id for key share),
                              loci.nil_uuid());  -- none: the foreign key says so
    return new;
end $$;
comment on function loci.keep_attribute_entity() is 'Trigger: attributes.entity_id is that of the aspect.';
