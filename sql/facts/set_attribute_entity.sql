-- Trigger: an attribute names the entity of its aspect, whoever writes it, so that all constraints of an entity are one
-- range of an index. The aspect is locked as the foreign key will lock it anyway: one that moves to another entity
-- meanwhile is waited for.
create or replace function loci_internal.set_attribute_entity() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    new.entity_id := coalesce((select a.entity_id from loci_data.aspects a
                               where a.namespace_id = new.namespace_id and a.id = new.aspect_id for key share),
                              loci_internal.nil_uuid());  -- none: the foreign key says so
    return new;
end $$;
comment on function loci_internal.set_attribute_entity() is
    'Trigger: attributes.entity_id is that of the aspect.';

-- loci_data.attributes.entity_id follows the aspect. When the aspect itself moves, the foreign key carries its
-- attributes along.
create or replace trigger attributes_entity before insert or update of aspect_id, entity_id on loci_data.attributes
    for each row execute function loci_internal.set_attribute_entity();
