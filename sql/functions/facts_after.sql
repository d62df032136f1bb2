-- The next active facts of a namespace, or of an entity, in order of id. Walks the primary key, or the entity's aspects.
-- Called by sweep_supersessions; internal.
create or replace function loci.facts_after(p_namespace_id integer, p_entity_id uuid, p_after uuid, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    if p_entity_id is null then
        return array(select a.id from loci_data.attributes a
                     where a.namespace_id = p_namespace_id and a.id > p_after and a.status = 'active' and a.kind = 'attribute'
                     order by a.id limit p_limit);
    end if;
    return array(select a.id from loci_data.aspects s
                 cross join lateral (select i.id, i.kind from loci_data.attributes i
                                     where i.namespace_id = p_namespace_id and i.aspect_id = s.id and i.status = 'active' and i.id > p_after offset 0) a
                 where s.namespace_id = p_namespace_id and s.entity_id = p_entity_id and a.kind = 'attribute'
                 order by a.id limit p_limit);
end $$;
comment on function loci.facts_after(integer, uuid, uuid, integer) is 'Ids of the next active facts, in order. Internal.';
