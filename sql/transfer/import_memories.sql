-- Import of memories with their versions.

-- Memories out of another system's file, each with an id that follows from its identity there. A memory of that id
-- exists, in any status: nothing is written, so that a file may be imported again. Content that an open memory states
-- (without a lineage; or the newest version of the named one) is merged into it: it gains what the item says of
-- entities and edges, and is not reinforced, because a copy of a file is no observation. All others are written by
-- remember; versions of one lineage stand in the order of the times at which they were written there (written_at of an
-- item), whichever comes first: see place_imported_versions. edges_written, edges_there: of the edges that items state,
-- those that are new, and the others; items that became one memory have them in the first row. entities_written, in the
-- first row of all: entities that are new because items name them. Cost: two index probes an item, a few more for an
-- item with entities or edges, and remember. Errors: those of remember.
create or replace function loci_api.import_memories(p_namespace text, p_items jsonb)
returns table (ordinal integer, id uuid, outcome text, edges_written integer, edges_there integer,
               entities_written integer)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_at      timestamptz := clock_timestamp();
    v_known   jsonb;
    v_new     jsonb;
    v_merged  jsonb;
begin
    perform loci_internal.lock_lineages(v_ns, array(
        select jsonb_populate_record(null::loci_internal.memory_input,
                                     i.item - array['metadata', 'content'] || jsonb_build_object('ordinal', i.ordinal))
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        where i.item ->> 'lineage' is not null and not exists (
            select from loci_data.memories m where m.namespace_id = v_ns and m.id = (i.item ->> 'id')::uuid)));
    select jsonb_agg(jsonb_build_object('ordinal', k.ordinal, 'id', k.id, 'outcome', k.outcome, 'item', k.item)
                     order by k.ordinal) into v_known
    from loci_internal.find_imported_memories(v_ns, p_items, v_at) k;
    v_new := (select jsonb_agg(k -> 'item' order by (k ->> 'ordinal')::integer) from jsonb_array_elements(v_known) k
              where k ->> 'outcome' = 'written');
    if v_new is not null then
        perform count(*) from loci_api.remember(
            p_namespace, loci_internal.place_imported_versions(v_ns, v_new, v_at));
    end if;
    v_merged := (select jsonb_agg(k order by (k ->> 'ordinal')::integer) from jsonb_array_elements(v_known) k
                 where k ->> 'outcome' = 'merged');
    if v_merged is not null then
        perform loci_internal.remember_graph(
            v_ns, (select jsonb_agg(m -> 'item' order by n)
                   from jsonb_array_elements(v_merged) with ordinality a(m, n)),
            array(select ((n - 1)::integer, (m ->> 'id')::uuid, null, true, null, null)::loci_internal.memory_outcome
                  from jsonb_array_elements(v_merged) with ordinality a(m, n) order by n), v_at);
    end if;
    return query
    select c.*, case when c.ordinal = 1 then loci_internal.count_new_entities(v_ns, array(
               select distinct (k ->> 'id')::uuid from jsonb_array_elements(v_known) k
               where k -> 'item' ?| '{entities,edges,about}'), v_at) else 0 end
    from loci_internal.count_imported_edges(v_ns, v_known, v_at) c order by c.ordinal;
end $$;
comment on function loci_api.import_memories(text, jsonb) is
    'Write memories of another system''s file, each with its id. One row an item, ordinal from 1: written, merged (its '
    'content was there) or there (it was imported before), and how many of its edges and entities are new. '
    'Errors: those of remember.';

-- The outcome of items that have been imported (p_known), with how many of the edges that they state are new since
-- p_at, and how many were there. A new edge has the id of its first observation, which is by the memory. Index
-- edge_observations_memory.
create or replace function loci_internal.count_imported_edges(p_namespace_id integer, p_known jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, outcome text, edges_written integer, edges_there integer)
language sql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
    with item as materialized (
        select (k ->> 'ordinal')::integer as ordinal, (k ->> 'id')::uuid as id, k ->> 'outcome' as outcome,
               jsonb_array_length(coalesce(nullif(k -> 'item' -> 'edges', 'null'), '[]')) as stated
        from jsonb_array_elements(p_known) k
    ), summed as (
        select i.ordinal, i.id, i.outcome, sum(i.stated) over m as stated,
               row_number() over (m order by i.ordinal) as nth
        from item i window m as (partition by i.id)
    )
    select s.ordinal, s.id, s.outcome, n.new, case when s.nth = 1 then s.stated::integer - n.new else 0 end
    from summed s
    cross join lateral (
        select count(*)::integer as new from loci_data.edge_observations o
        where s.nth = 1 and s.stated > 0 and o.namespace_id = p_namespace_id and o.memory_id = s.id
          and o.id = o.edge_id and o.recorded_at >= p_at offset 0) n
$$;
comment on function loci_internal.count_imported_edges(integer, jsonb, timestamptz) is
    'Outcome for imported items, and how many edges that they state are new.';

-- Which items of an import are there already, and as what? By their ids; by their content, where it may fold; or by an
-- item before them. A version written there at another time is another version. Index probes, planned for any
-- namespace: primary key, memories_fold, memories_lineage_version_key.
create or replace function loci_internal.find_imported_memories(p_namespace_id integer, p_items jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, outcome text, item jsonb)
language sql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
    with item as materialized (
        select i.ordinal::integer, (i.item ->> 'id')::uuid as id, i.item, i.item ->> 'lineage' as lineage,
               (i.item ->> 'written_at')::timestamptz as written_at,
               loci_internal.content_hash(i.item ->> 'content') as hash, i.item ->> 'category' as category,
               loci_internal.wording_scope(i.item ->> 'content', i.item ->> 'about',
                                           loci_internal.speaker_of(i.item ->> 'source', null),
                                           (select loci.current_agent())) as scope,
               i.item ->> 'valid_from' is null and i.item ->> 'valid_to' is null
               and coalesce(i.item ->> 'layer', '') <> '3' as folds
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    ), stored as materialized (
        select i.*, same.id is not null as there, said.id as said
        from item i
        left join lateral (select m.id from loci_data.memories m
                           where m.namespace_id = p_namespace_id and m.id = i.id limit 1) same on true
        left join lateral (
            select m.id from loci_data.memories m
            where i.folds and i.lineage is null and m.namespace_id = p_namespace_id and m.content_hash = i.hash
              and m.valid_to is null and m.status = 'active' and m.layer <> 3 and m.valid_from <= p_at
              and m.category = coalesce(i.category, m.category)
              and loci_internal.wording_scope(m.content, m.about, m.source, m.created_by) = i.scope
            order by m.fold_scope limit 1) folded on true
        left join lateral (
            select m.id from loci_data.memories m
            cross join lateral (select loci_internal.source_time(m.id, m.metadata) as written_at) s
            where i.folds and i.lineage is not null and m.namespace_id = p_namespace_id and m.lineage = i.lineage
              and m.content_hash = i.hash and m.status = 'active' and (s.written_at = i.written_at
                  or (m.valid_to is null and (s.written_at is null or i.written_at is null)))
            order by m.version desc limit 1) newest on true
        cross join lateral (select coalesce(folded.id, newest.id) as id) said
    )
    select s.ordinal, case when s.there then s.id else coalesce(s.said, first.id, s.id) end,
           case when s.there or twin.ordinal is not null then 'there'
                when s.said is not null or first.id is not null then 'merged' else 'written' end, s.item
    from stored s
    left join (select t.id, min(t.ordinal) as ordinal from item t group by t.id) twin
         on twin.id = s.id and twin.ordinal < s.ordinal
    left join (select distinct on (t.hash, t.scope, t.category) t.hash, t.scope, t.category, t.id, t.ordinal
               from stored t
               where t.folds and t.lineage is null and not t.there and t.said is null
               order by t.hash, t.scope, t.category, t.ordinal) first
         on first.hash = s.hash and first.scope = s.scope
         and first.category is not distinct from s.category and first.ordinal < s.ordinal and s.folds
         and s.lineage is null
    order by s.ordinal
$$;
comment on function loci_internal.find_imported_memories(integer, jsonb, timestamptz) is
    'Outcomes for items of an import: written anew, merged into a memory, or there already.';

-- Items of an import with the validity that they have among the versions of their lineages, in the order in which they
-- were written there; versions that are here already are changed to fit. So files may come in any order. A version is
-- valid from where it states, else from when it was written (written_at), until it ends or a later one begins. One that
-- would begin later than a later one is valid never. A lineage with one version is left alone: when that was written is
-- not when it was true. As soon as there are two, one began when the other was replaced, so a version that was valid
-- from its import is valid from when it was written. Versions of Loci's own count as written when they were recorded,
-- or when they begin, if that is later. A forgotten memory stays forgotten, and keeps older ones from coming back.
-- Items without written_at come after those that are there, as remember places them. The caller has locked the
-- lineages. Index memories_lineage_version_key, planned for any namespace.
create or replace function loci_internal.place_imported_versions(p_namespace_id integer, p_items jsonb,
                                                                 p_at timestamptz) returns jsonb
language sql volatile set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
    with item as materialized (
        select i.item, i.ordinal, i.item ->> 'lineage' as lineage, (i.item ->> 'written_at')::timestamptz as written_at,
               (i.item ->> 'valid_from')::timestamptz as starts, (i.item ->> 'valid_to')::timestamptz as ends
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        where i.item ->> 'lineage' is not null and i.item ->> 'written_at' is not null
    ), version as materialized (
        select null::bigint as ordinal, m.id, m.lineage, coalesce(s.written_at, greatest(m.recorded_at, m.valid_from))
                   as written_at, m.status = 'active' as changes,
               case when m.valid_from = m.recorded_at then least(coalesce(s.written_at, m.valid_from), m.valid_to)
                    else m.valid_from end as starts, m.valid_to as ends,
               m.valid_to is not null and not exists (
                   select from loci_data.memories n where n.namespace_id = p_namespace_id and n.lineage = m.lineage
                      and n.valid_from = m.valid_to) as ended
        from (select distinct i.lineage from item i) l
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.lineage = l.lineage
            and (m.valid_to is null or m.valid_to > m.valid_from)
        cross join lateral (select loci_internal.source_time(m.id, m.metadata) as written_at) s
        union all
        select i.ordinal, (i.item ->> 'id')::uuid, i.lineage, i.written_at, true,
               case when i.starts is null or i.item ? 'start_is_derived'
                    then greatest(i.starts, least(i.written_at, i.ends)) else i.starts end, i.ends, i.ends is not null
        from item i
    ), followed as materialized (
        select v.*, min(v.starts) over later as until, count(*) over (partition by v.lineage) as versions
        from version v
        window later as (partition by v.lineage order by v.written_at, v.ended, v.id
                         rows between 1 following and unbounded following)
    ), placed as materialized (  -- greatest and least pass over null
        select f.*, case when coalesce(f.ends, f.until) is not null
                         then greatest(f.starts, least(f.ends, f.until)) end as final
        from followed f where f.versions > 1
    ), fitted as (
        update loci_data.memories m
        set valid_from = p.starts, valid_to = p.final, updated_at = p_at,
            superseded_at = coalesce(m.superseded_at, case when p.final <= p_at then p_at end)
        from placed p
        where p.ordinal is null and p.changes and m.namespace_id = p_namespace_id and m.id = p.id
          and (m.valid_from, m.valid_to) is distinct from (p.starts, p.final)
    )
    select jsonb_agg(i.item || case when p.id is null then '{}'
                                    else jsonb_build_object('valid_from', p.starts, 'valid_to', p.final) end
                     order by p.written_at nulls last, p.ended, i.ordinal)
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    left join placed p on p.ordinal = i.ordinal
$$;
comment on function loci_internal.place_imported_versions(integer, jsonb, timestamptz) is
    'Items of an import, placed among the versions of their lineages by when they were written there.';

-- When was a memory written in the system that it was imported from? Null: it was written here. Ids of imports follow
-- from identities (UUID version 5); a version of Loci's own may have inherited the metadata, but not the id.
create or replace function loci_internal.source_time(p_id uuid, p_metadata jsonb) returns timestamptz
language sql stable parallel safe
as $$
    select case when substr(p_id::text, 15, 1) = '5' and pg_input_is_valid(s.said, 'timestamptz')
                then s.said::timestamptz end
    from (select coalesce(p_metadata ->> 'source_updated_at', p_metadata ->> 'source_created_at') as said) s
$$;
comment on function loci_internal.source_time(uuid, jsonb) is
    'When an imported memory was written in its own system; null for others.';
