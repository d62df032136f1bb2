-- Which existing entity does each canonical name mean? The name wins over an alias, the most mentioned over the others.
-- One look-up a name in the primary key of entity_names. Names that mean none are left out. Called by save_entities; internal.
create or replace function loci.resolve_names(p_namespace_id integer, p_names text[])
returns table (canonical_name text, id uuid)
language sql stable parallel safe
as $$
    select n.name, found.id
    from (select distinct unnest(p_names)) n(name)
    cross join lateral (
        select e.id from loci_data.entity_names k
        cross join lateral (select i.id, i.mentions from loci_data.entities i
                            where i.namespace_id = p_namespace_id and i.id = k.entity_id offset 0) e
        where k.namespace_id = p_namespace_id and k.canonical_name = n.name
        order by k.is_alias, e.mentions desc, e.id limit 1) found
$$;
comment on function loci.resolve_names(integer, text[]) is 'Entities that canonical names mean, by name or alias. Internal.';
