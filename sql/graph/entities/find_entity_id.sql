-- Which entity is meant by an id, a name or an alias? The name wins over an alias, the most mentioned over the others;
-- a merged one's leads to the one that it went into, a removed one's nowhere. Probes of primary keys, whatever the
-- planner believes.
create or replace function loci_internal.find_entity_id(p_namespace_id integer, p_ref text) returns uuid
language sql stable parallel safe
as $$
    select coalesce(
        (select case when e.merged_into is null then e.id else loci_internal.surviving_entity_id(p_namespace_id, e.id)
         end from loci_data.entities e where e.namespace_id = p_namespace_id
         and e.id = case when p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_ref::uuid end),
        (select n.entity_id
         from loci_data.entity_names n
         cross join lateral (select e.mentions from loci_data.entities e
                             where e.namespace_id = p_namespace_id and e.id = n.entity_id limit 1) e
         where n.namespace_id = p_namespace_id and n.canonical_name = case
             when length(p_ref) <= 1000 then loci.canonical_name(p_ref) end
         order by n.is_alias, e.mentions desc, n.entity_id limit 1))
$$;
comment on function loci_internal.find_entity_id(integer, text) is
    'Id of the entity with this id, name or alias; null if there is none.';
