-- Trigger: keeps loci_data.entity_names in step with the names and aliases of entities, a whole statement at once; a merged
-- entity has none: its names are aliases of the one that it went into.
-- Cost follows the number of changed names. Uses index entity_names_entity.
create or replace function loci.index_entity_names() returns trigger
language plpgsql volatile set search_path = ''
as $$
declare
    v_changed loci_data.entities[];
begin
    if tg_op = 'INSERT' then
        select array_agg(n) into v_changed from new_rows n where n.merged_into is null;
    else
        select array_agg(n) into v_changed
        from new_rows n join old_rows o on o.namespace_id = n.namespace_id and o.id = n.id
        where (n.canonical_name, n.aliases, n.merged_into) is distinct from (o.canonical_name, o.aliases, o.merged_into);
        delete from loci_data.entity_names k using unnest(v_changed) c
        where k.namespace_id = c.namespace_id and k.entity_id = c.id;
    end if;
    insert into loci_data.entity_names (namespace_id, canonical_name, entity_id, is_alias, tokens, head)
    select p.namespace_id, p.name, p.id, p.is_alias, cardinality(p.pieces), loci.name_head(p.pieces[1], p.pieces[2])
    from (
        select n.*, loci.name_pieces(n.name) as pieces
        from (
            select c.namespace_id, c.canonical_name as name, c.id, false as is_alias from unnest(v_changed) c where c.merged_into is null
            union
            select c.namespace_id, loci.canonical_name(a.alias), c.id, true
            from unnest(v_changed) c cross join lateral unnest(c.aliases) a(alias)
            where c.merged_into is null and loci.canonical_name(a.alias) not in (c.canonical_name, '')
        ) n
        offset 0  -- pieces are cut once
    ) p
    order by p.namespace_id, p.name, p.id;
    return null;
end $$;
comment on function loci.index_entity_names() is 'Trigger: write the names and aliases of new and changed entities to entity_names.';
