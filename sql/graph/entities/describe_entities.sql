-- Which entities are written, and what do they say of themselves? Upsert by canonical name, or by alias of one that
-- exists. A vaguer type (unknown, extracted) gives way to a more specific one; aliases unite; metadata merges; seen_at
-- lowers the first_seen_at of a new one. Nothing is counted: a new entity has no observations yet (observe_entities), a
-- known one is changed only where it says something new. Rows are inserted, then locked, in order of canonical_name:
-- two writers of one name make one entity, and no deadlock. One that is being merged into another is not written to
-- (40001, trigger entities_merged). A handful of set-based statements for one item or thousands. One row an item,
-- ordinal from 1; created is true for the first item of a new entity.
create or replace function loci_internal.describe_entities(p_namespace_id integer, p_entities jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, name text, created boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_batch   jsonb;
    v_created uuid[];
begin
    select jsonb_agg(b) into v_batch from loci_internal.entity_batch(p_namespace_id, p_entities) b;

    with added as (
        insert into loci_data.entities (namespace_id, id, name, canonical_name, type, aliases, description, confidence,
                                        initial_confidence,
                                   observations, metadata, first_seen_at, created_at, updated_at)
        select p_namespace_id, b.new_id, b.name, b.canonical_name, coalesce(b.type, 'unknown'),
               loci_internal.clean_aliases(b.aliases, b.canonical_name), b.description,
               coalesce(b.stated, 0.5), coalesce(b.stated, 0.5), 0, coalesce(b.metadata, '{}'), least(b.seen_at, p_at),
               p_at, p_at
        from (select loci_api.uuid7() as new_id, n.*
              from (select * from jsonb_to_recordset(v_batch) as b(
                        ordinals integer[], id uuid, name text, canonical_name text, type text, aliases text[],
                        description text, metadata jsonb, stated double precision, seen_at timestamptz)
                    where b.id is null order by b.ordinals[1]) n) b
        order by b.canonical_name
        on conflict (namespace_id, canonical_name) where merged_into is null do nothing
        returning entities.id
    )
    select array_agg(a.id) into v_created from added a;

    -- New statement, new snapshot: a name that another writer has just added is now seen.
    return query
    with known as materialized (
        -- apart from what was created: joined within the lateral, all of that would be read again for each name
        select b.*, e.id as entity_id, e.name as entity_name
        from jsonb_to_recordset(v_batch) as b(
            ordinals integer[], id uuid, canonical_name text, type text, aliases text[], description text,
            metadata jsonb)
        cross join lateral (
            select e.id, e.name from loci_data.entities e
            where b.id is not null and e.namespace_id = p_namespace_id and e.id = b.id
            union all
            select e.id, e.name from loci_data.entities e
            where b.id is null and e.namespace_id = p_namespace_id and e.canonical_name = b.canonical_name
              and e.merged_into is null offset 0) e
    ), batch as materialized (
        select k.*, c.id is not null as is_new from known k left join unnest(v_created) c(id) on c.id = k.entity_id
    ), locked as materialized (
        select e.* from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any(array(
            select b.entity_id from batch b where not b.is_new
                and num_nonnulls(b.type, b.aliases, b.description, b.metadata) > 0))
        order by e.canonical_name
        for no key update
    ), changed as materialized (
        select l.id, n.*
        from locked l join batch b on b.entity_id = l.id
        cross join lateral (
            select case when loci_internal.entity_type_is_vaguer(l.type, b.type) then b.type else l.type end as type,
                   case when b.aliases is null then l.aliases
                       else loci_internal.clean_aliases(l.aliases || b.aliases, l.canonical_name) end as aliases,
                   coalesce(b.description, l.description) as description, l.metadata ||
                       coalesce(b.metadata, '{}') as metadata) n
        where (n.type, n.aliases, n.description, n.metadata)
            is distinct from (l.type, l.aliases, l.description, l.metadata)
    ), described as (
        update loci_data.entities e
        set type = c.type, aliases = c.aliases, description = c.description, metadata = c.metadata,
            updated_at = greatest(e.updated_at, p_at)
        from changed c
        where e.namespace_id = p_namespace_id and e.id = any(array(select x.id from changed x)) and e.id = c.id
    )
    select o.ordinal, b.entity_id, b.entity_name, b.is_new and o.nth = 1
    from batch b cross join lateral unnest(b.ordinals) with ordinality o(ordinal, nth)
    order by o.ordinal;
end $$;
comment on function loci_internal.describe_entities(integer, jsonb, timestamptz) is
    'Upsert what entities say of themselves: JSON array of {name, type?, aliases?, description?, metadata?, '
    'confidence?, seen_at?}. Errors: 22023.';

-- The entities of a write, one row for each that is meant: known ones by name or alias; new ones by name, or by an
-- alias that an earlier item of the same write gave. What several items say of one is put together as if they came one
-- after the other. ordinals: the items. stated: the confidence that the first of them states. seen_at: the earliest
-- moment that one of them dates from. A few hash joins over the items.
create or replace function loci_internal.entity_batch(p_namespace_id integer, p_entities jsonb)
returns table (ordinals integer[], id uuid, name text, canonical_name text, type text, aliases text[], description text,
               metadata jsonb, stated double precision, seen_at timestamptz)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off
as $$
begin
    return query
    with recursive item as materialized (
        select i.* from loci_internal.parse_entities(p_entities) i
    ), known as materialized (
        select k.* from loci_internal.resolve_names(p_namespace_id, (select array_agg(i.canonical_name) from item i)) k
    ), alias as materialized (
        select a.item, loci.canonical_name(a.alias) as canonical_name, a.alias, a.place
        from (select i.ordinal as item, u.* from item i
              cross join lateral unnest(i.aliases) with ordinality u(alias, place)) a
    ), step as materialized (
        select i.ordinal, k.id, min(i.ordinal) over (partition by i.canonical_name) as first,
               case when k.id is null then a.item end as earlier
        from item i left join known k using (canonical_name)
        left join (select b.canonical_name, min(b.item) as item from alias b group by 1) a using (canonical_name)
    ), member as (
        select s.ordinal, coalesce(s.id::text, s.first::text) as key, s.id
        from step s where s.earlier is null or s.earlier >= s.first
        union all
        select s.ordinal, m.key, m.id from member m join step s on s.earlier = m.ordinal and s.earlier < s.first
    ), observed as (
        select m.key, m.id, i.*, row_number() over (partition by m.key order by m.ordinal) as nth
        from member m join item i using (ordinal)
    ), named as (
        select m.key, array_agg(a.alias order by a.item, a.place) as aliases
        from alias a join member m on m.ordinal = a.item group by m.key
    ), described as (
        select o.key, jsonb_object_agg(e.key, e.value order by o.nth) as metadata
        from observed o cross join lateral jsonb_each(o.metadata) e where jsonb_typeof(o.metadata) = 'object'
        group by o.key
    )
    select array_agg(o.ordinal order by o.nth), o.id,
           (array_agg(o.name order by o.nth))[1], (array_agg(o.canonical_name order by o.nth))[1],
           (array_agg(o.type order by case o.type when 'unknown' then 2 when 'extracted' then 1 else 0 end, o.nth)
                filter (where o.type is not null))[1],
           n.aliases,
           (array_agg(o.description order by o.nth desc) filter (where o.description is not null))[1],
           d.metadata,
           (array_agg(o.confidence order by o.nth))[1], min(o.seen_at)
    from observed o left join named n using (key) left join described d using (key)
    group by o.key, o.id, n.aliases, d.metadata;
end $$;
comment on function loci_internal.entity_batch(integer, jsonb) is
    'Items of a write gathered by the entity they mean.';
