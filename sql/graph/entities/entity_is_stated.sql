-- Did somebody state this entity, beside memories that are gone? It is pinned, or was observed by hand, in a
-- conversation or by another memory; or it has a fact that rests on none of them, or an aspect that no fact and no
-- edge has made. Forgetting hides, and erasing deletes, only what nobody stated. p_gone: memories that are erased;
-- null: those that are not active. Indexes aspects_weight, edges_source. Inlines.
create or replace function loci_internal.entity_is_stated(p_entity loci_data.entities, p_gone uuid[]) returns boolean
language sql stable parallel safe
as $$
    select (p_entity).pinned or (p_entity).observations > 0 or exists (
        select from loci_data.aspects a
        where a.namespace_id = (p_entity).namespace_id and a.entity_id = (p_entity).id
          and (exists (select from loci_data.attributes t
                       where t.namespace_id = a.namespace_id and t.aspect_id = a.id
                         and (t.memory_id is null or case when p_gone is not null then t.memory_id <> all (p_gone)
                              else exists (select from loci_data.memories m where m.namespace_id = a.namespace_id
                                           and m.id = t.memory_id and m.status = 'active') end))
               or not exists (select from loci_data.attributes t
                              where t.namespace_id = a.namespace_id and t.aspect_id = a.id)
                  and not exists (select from loci_data.edges e
                                  where e.namespace_id = a.namespace_id and e.source_id = a.entity_id
                                    and e.aspect_id = a.id)))
$$;
comment on function loci_internal.entity_is_stated(loci_data.entities, uuid[]) is
    'Whether an entity was stated by hand, or by what is not gone.';
