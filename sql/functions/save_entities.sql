-- Write entities: upsert by canonical name, or by alias of one that exists (row G3). A vaguer type (unknown, extracted) gives way
-- to a more specific one; aliases unite; metadata merges; each further observation takes a fifth off the distance of confidence
-- to 1; seen_at, when what is said of it dates from, lowers first_seen_at. Rows are inserted, then locked, in order of canonical_name: two writers of one name make one entity, and no deadlock.
-- A handful of set-based statements for one item or thousands. Mentions are mention_entities' business. One row an item, ordinal
-- from 1; created is true for the first item of a new entity. Called by upsert_entities, observe_edges, remember_graph; internal.
create or replace function loci.save_entities(p_namespace_id integer, p_entities jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, name text, created boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off  -- where there is a choice: the size of a batch is unknown to the planner
as $$
declare
    v_batch   jsonb;
    v_created uuid[];
begin
    select jsonb_agg(b) into v_batch from loci.entity_batch(p_namespace_id, p_entities) b;

    with added as (
        insert into loci_data.entities (namespace_id, id, name, canonical_name, type, aliases, description, confidence, observations,
                                   metadata, first_seen_at, created_at, updated_at)
        select p_namespace_id, b.new_id, b.name, b.canonical_name, coalesce(b.type, 'unknown'),
               loci.clean_aliases(b.aliases, b.canonical_name), b.description,
               1 - (1 - coalesce(b.stated, 0.5)) * 0.8 ^ (b.further - (b.stated is null)::integer),
               cardinality(b.ordinals), coalesce(b.metadata, '{}'), least(b.seen_at, p_at), p_at, p_at
        from (select loci.uuid7() as new_id, n.*
              from (select * from jsonb_to_recordset(v_batch) as b(
                        ordinals integer[], id uuid, name text, canonical_name text, type text, aliases text[],
                        description text, metadata jsonb, stated double precision, further integer, seen_at timestamptz)
                    where b.id is null order by b.ordinals[1]) n) b
        order by b.canonical_name
        on conflict (namespace_id, canonical_name) do nothing
        returning entities.id
    )
    select array_agg(a.id) into v_created from added a;

    -- New statement, new snapshot: a name that another writer has just added is now seen.
    return query
    with batch as materialized (
        select b.*, e.id as entity_id, e.name as entity_name, c.id is not null as is_new
        from jsonb_to_recordset(v_batch) as b(
            ordinals integer[], id uuid, canonical_name text, type text, aliases text[], description text, metadata jsonb,
            stated double precision, further integer, seen_at timestamptz)
        cross join lateral (
            select e.id, e.name from loci_data.entities e
            where b.id is not null and e.namespace_id = p_namespace_id and e.id = b.id
            union all
            select e.id, e.name from loci_data.entities e
            where b.id is null and e.namespace_id = p_namespace_id and e.canonical_name = b.canonical_name offset 0) e
        left join unnest(v_created) c(id) on c.id = e.id
    ), locked as materialized (
        select e.id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any(array(select b.entity_id from batch b where not b.is_new))
        order by e.canonical_name
        for no key update
    ), reinforced as (
        update loci_data.entities e
        set type = case when loci.is_vaguer(e.type, b.type) then b.type else e.type end,
            aliases = loci.clean_aliases(e.aliases || b.aliases, e.canonical_name),
            description = coalesce(b.description, e.description),
            metadata = e.metadata || coalesce(b.metadata, '{}'),
            confidence = 1 - (1 - coalesce(b.stated, e.confidence)) * 0.8 ^ b.further,
            observations = e.observations + cardinality(b.ordinals), first_seen_at = least(e.first_seen_at, b.seen_at),
            updated_at = greatest(e.updated_at, p_at)
        from batch b
        where e.namespace_id = p_namespace_id and e.id = any(array(select l.id from locked l)) and e.id = b.entity_id
    )
    select o.ordinal, b.entity_id, b.entity_name, b.is_new and o.nth = 1
    from batch b cross join lateral unnest(b.ordinals) with ordinality o(ordinal, nth)
    order by o.ordinal;
end $$;
comment on function loci.save_entities(integer, jsonb, timestamptz) is 'Upsert entities: JSON array of {name, type?, aliases?, description?, metadata?, confidence?, seen_at?}. Internal. Errors: 22023.';
