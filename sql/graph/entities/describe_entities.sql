-- Which entities are written, and what do they say of themselves? Upsert by canonical name, or by alias of one that
-- exists; an item whose own name is new, and one of whose aliases is the name of one, means that one. A vaguer type
-- (unknown, extracted) gives way to a more specific one; aliases unite; metadata merges; seen_at lowers the
-- first_seen_at of a new one. Nothing is counted: a new entity has no observations yet (observe_entities), a known
-- one is changed only where it says something new. Rows are inserted, then locked, in order of canonical_name: two
-- writers of one name make one entity, and no deadlock. One that is being merged into another is not written to
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
