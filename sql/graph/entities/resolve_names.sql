-- Which existing entity does each canonical name mean? The name wins over an alias, the most mentioned over the others.
-- One look-up a name in the primary key of entity_names, compared as a row, because with plain equality a planner
-- without statistics takes entity_names_tokens and reads every name. Entities are read only where several share a name.
-- Names that mean none are left out.
create or replace function loci_internal.resolve_names(p_namespace_id integer, p_names text[])
returns table (canonical_name text, id uuid)
language sql stable parallel safe
as $$
    with named as materialized (
        select n.name, k.entity_id, k.is_alias, count(*) over (partition by n.name) > 1 as shared
        from (select distinct unnest(p_names)) n(name)
        cross join lateral (
            select k.entity_id, k.is_alias from loci_data.entity_names k
            where k.namespace_id = p_namespace_id
              and (k.canonical_name, k.entity_id) >= (n.name, loci_internal.nil_uuid())
              and (k.canonical_name, k.entity_id) <= (n.name, 'ffffffff-ffff-ffff-ffff-ffffffffffff') offset 0) k
    )
    select n.name, n.entity_id from named n where not n.shared
    union all
    (select distinct on (n.name) n.name, n.entity_id
     from named n
     join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id
          and e.id = any(array(select s.entity_id from named s where s.shared))
     where n.shared
     order by n.name, n.is_alias, e.mentions desc, n.entity_id)
$$;
comment on function loci_internal.resolve_names(integer, text[]) is
    'Entities that canonical names mean, by name or alias.';
