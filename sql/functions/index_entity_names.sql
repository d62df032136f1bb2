-- Trigger: keeps loci_data.entity_names in step with the names and aliases of entities, a whole statement at once.
-- Cost follows the number of changed names. Uses index entity_names_entity.
create or replace function loci.index_entity_names() returns trigger
language plpgsql volatile set search_path = ''
as $$
declare
    v_changed loci_data.entities[];
begin
    if tg_op = 'INSERT' then
        select array_agg(n) into v_changed from new_rows n;
    else
        select array_agg(n) into v_changed
        from new_rows n join old_rows o on o.namespace_id = n.namespace_id and o.id = n.id
        where (n.canonical_name, n.aliases) is distinct from (o.canonical_name, o.aliases);
        delete from loci_data.entity_names k using unnest(v_changed) c
        where k.namespace_id = c.namespace_id and k.entity_id = c.id;
    end if;
    insert into loci_data.entity_names (namespace_id, canonical_name, entity_id, is_alias, tokens)
    select n.namespace_id, n.name, n.id, n.is_alias, (select least(count(*), 32767) from loci.name_tokens(n.name))
    from (
        select c.namespace_id, c.canonical_name as name, c.id, false as is_alias from unnest(v_changed) c
        union
        select c.namespace_id, loci.canonical_name(a.alias), c.id, true
        from unnest(v_changed) c cross join lateral unnest(c.aliases) a(alias)
        where loci.canonical_name(a.alias) not in (c.canonical_name, '')
    ) n
    order by n.namespace_id, n.name, n.id;
    return null;
end $$;
comment on function loci.index_entity_names() is 'Trigger: write the names and aliases of new and changed entities to entity_names.';
