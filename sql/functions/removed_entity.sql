-- Which removed entity does an id or a name mean? The id of one, or of one that was merged into it; else the one that was removed last of those
-- that had this name. Null: none. Primary key look-ups, or a range of entity_beliefs_name. Called by entity_timeline; internal.
create or replace function loci.removed_entity(p_namespace_id integer, p_ref text) returns uuid
language sql stable set search_path = ''
as $$
    with recursive way as (
        select e.id, e.merged_into from loci_data.entities e where e.namespace_id = p_namespace_id
        and e.id = case when p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_ref::uuid end
        union
        select e.id, e.merged_into from way w join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = w.merged_into
    )
    select coalesce(
        (select w.id from way w where w.merged_into = w.id),
        (select e.id from loci_data.entity_beliefs b
         cross join lateral (select o.id, o.merged_at from loci_data.entities o
                             where o.namespace_id = p_namespace_id and o.id = b.entity_id and o.merged_into = o.id and o.canonical_name = b.canonical_name limit 1) e
         where b.namespace_id = p_namespace_id and b.canonical_name = loci.canonical_name(p_ref)
         order by e.merged_at desc, e.id limit 1))
$$;
comment on function loci.removed_entity(integer, text) is 'Id of the removed entity with this id or name; null if there is none. Internal.';
