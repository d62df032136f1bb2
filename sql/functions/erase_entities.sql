-- Delete entities that nothing mentions any more (row M9), with what hangs under them. Returns aspects and attributes that
-- went. Edges are gone, and the entities locked. Cascades follow the foreign keys. Called by erase_memories; internal.
create or replace function loci.erase_entities(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_aspects    uuid[] := array(select a.id from loci_data.aspects a where a.namespace_id = p_namespace_id and a.entity_id = any (p_ids));
    v_attributes uuid[] := array(select a.id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.aspect_id = any (v_aspects));
begin
    delete from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (p_ids);
    return v_aspects || v_attributes;
end $$;
comment on function loci.erase_entities(integer, uuid[]) is 'Delete entities with their names, aspects and attributes; ids of the last two. Internal.';
