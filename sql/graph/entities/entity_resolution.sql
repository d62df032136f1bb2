-- Resolution of entities: the index of their names, and the entity that a name means. If several have one name, the
-- most mentioned counts; split_entity tells them apart.

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
-- no other. hash_tokens reckons the same for each place of a text. Pure, inlines.
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

-- Which existing entity does an item with a new name mean, because one of its aliases is the entity's name? p_items:
-- JSON array of {ordinal, canonical_name, aliases}. An alias that several share means nobody. One look-up a name and
-- alias: entity_names, entities_canonical_name_key. Errors: 23505 (aliases are names of several).
create or replace function loci_internal.resolve_new_names(p_namespace_id integer, p_items jsonb)
returns table (canonical_name text, id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_one record;
begin
    for v_one in
        select i.canonical_name, min(i.ordinal) as ordinal, array_agg(distinct e.id) as ids,
               array_agg(distinct e.name) as names
        from jsonb_to_recordset(p_items) i(ordinal integer, canonical_name text, aliases text[])
        cross join lateral unnest(i.aliases) a(alias)
        cross join lateral (select x.id, x.name from loci_data.entities x
                            where x.namespace_id = p_namespace_id and x.merged_into is null
                              and x.canonical_name = loci.canonical_name(a.alias) limit 1) e
        where not exists (select from loci_data.entity_names k
                          where k.namespace_id = p_namespace_id
                            and (k.canonical_name, k.entity_id) >= (i.canonical_name, loci_internal.nil_uuid())
                            and (k.canonical_name, k.entity_id)
                                <= (i.canonical_name, 'ffffffff-ffff-ffff-ffff-ffffffffffff') offset 0)
        group by i.canonical_name order by 2
    loop
        if cardinality(v_one.ids) > 1 then
            raise unique_violation using column = format('entities[%s].aliases', v_one.ordinal - 1),
                message = format('entities[%s].aliases are the names of several entities: %s', v_one.ordinal - 1,
                                 array_to_string(v_one.names, ', ')),
                hint = 'Merge them first, or state the aliases of one.';
        end if;
        canonical_name := v_one.canonical_name;
        id := v_one.ids[1];
        return next;
    end loop;
end $$;
comment on function loci_internal.resolve_new_names(integer, jsonb) is
    'Entities that items with new names mean by their aliases. Errors: 23505.';

-- Which entities are meant by these ids, names or aliases? In the order given, none twice. One look-up each
-- (find_entity_id; entity_id_at for a moment before now: an entity that was merged since means itself there). Errors:
-- P0002 naming the first that is unknown, with p_field as the column, and the one whose name is most like it.
create or replace function loci_internal.resolve_entities(p_namespace_id integer, p_refs text[], p_field text,
                                                          p_known_at timestamptz default 'infinity')
returns uuid[]
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_ids     uuid[] := '{}';
    v_ref     text;
    v_id      uuid;
begin
    foreach v_ref in array coalesce(p_refs, '{}') loop
        v_id := case when p_known_at < 'infinity' then loci_internal.entity_id_at(p_namespace_id, v_ref, p_known_at)
                     else loci_internal.find_entity_id(p_namespace_id, v_ref) end;
        if v_id is null then
            raise no_data_found using column = p_field, message = format('entity %L does not exist', v_ref)
                || coalesce((select format('; the nearest is %L', r.name)
                             from loci_internal.similar_names(p_namespace_id, v_ref, 1, null, null,
                                                              nullif(p_known_at, 'infinity')) n
                             cross join lateral loci_internal.entity_rows(p_namespace_id, array[n.id], p_known_at) r
                             where r.id <> all (loci_internal.hidden_entities(p_namespace_id, p_known_at))),
                            '');
        elsif v_id <> all(v_ids) then
            v_ids := v_ids || v_id;
        end if;
    end loop;
    return v_ids;
end $$;
comment on function loci_internal.resolve_entities(integer, text[], text, timestamptz) is
    'Ids of entities given by id, name or alias. Errors: P0002.';

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

-- Which entity does this id stand for? Itself, or the one that it was merged into, over any number of merges; null:
-- there is none, or it was removed. A primary key look-up a merge.
create or replace function loci_internal.surviving_entity_id(p_namespace_id integer, p_id uuid) returns uuid
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_id   uuid := p_id;
    v_into uuid;
begin
    loop
        select e.merged_into into v_into from loci_data.entities e where e.namespace_id = p_namespace_id
            and e.id = v_id;
        if not found then
            return null;
        elsif v_into is null then
            return v_id;
        elsif v_into = v_id then
            return null;  -- removed: it leads nowhere
        end if;
        v_id := v_into;
    end loop;
end $$;
comment on function loci_internal.surviving_entity_id(integer, uuid) is
    'The entity that an id stands for, after merges; null if there is none, or it was removed.';
