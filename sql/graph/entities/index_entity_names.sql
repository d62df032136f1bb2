-- Trigger: keeps loci_data.entity_names in step with the names and aliases of entities, a whole statement at once; a
-- merged entity has none: its names are aliases of the one that it went into. Cost follows the number of changed names.
-- Uses index entity_names_entity.
create or replace function loci_internal.index_entity_names() returns trigger
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
        where (n.canonical_name, n.aliases, n.merged_into)
            is distinct from (o.canonical_name, o.aliases, o.merged_into);
        delete from loci_data.entity_names k using unnest(v_changed) c
        where k.namespace_id = c.namespace_id and k.entity_id = c.id;
    end if;
    insert into loci_data.entity_names (namespace_id, canonical_name, entity_id, is_alias, tokens, head)
    select p.namespace_id, p.name, p.id, p.is_alias, cardinality(p.pieces),
           loci_internal.name_prefix_hash(p.pieces[1], p.pieces[2])
    from (
        select n.*, loci_internal.name_tokens(n.name) as pieces
        from (
            select c.namespace_id, c.canonical_name as name, c.id, false as is_alias from unnest(v_changed) c
            where c.merged_into is null
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
comment on function loci_internal.index_entity_names() is
    'Trigger: write the names and aliases of new and changed entities to entity_names.';

-- The number under which names with these first two pieces are found: the upper half is of the first alone, so that all
-- that begins with one word stands together in the index; the lower half is of the second, or of the first if there is
-- no other. name_phrases reckons the same for each place of a text. Pure, inlines.
create or replace function loci_internal.name_prefix_hash(p_first text, p_second text) returns integer
language sql immutable parallel safe
return (hashtext(p_first) & (-65536)) | (hashtext(coalesce(p_second, p_first)) & 65535);
comment on function loci_internal.name_prefix_hash(text, text) is
    'Hash of the first two pieces of a name, 16 bits each.';

-- loci_data.entity_names follows loci_data.entities inside the same statement. Two triggers, because one with
-- transition tables may serve one event and name no columns.
create or replace trigger entity_names_added after insert on loci_data.entities
    referencing new table as new_rows for each statement execute function loci_internal.index_entity_names();
create or replace trigger entity_names_changed after update on loci_data.entities
    referencing old table as old_rows new table as new_rows
        for each statement execute function loci_internal.index_entity_names();
