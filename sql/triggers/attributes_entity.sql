-- loci_data.attributes.entity_id follows the aspect. When the aspect itself moves, the foreign key carries its attributes along.
create or replace trigger attributes_entity before insert or update of aspect_id, entity_id on loci_data.attributes
    for each row execute function loci.keep_attribute_entity();
