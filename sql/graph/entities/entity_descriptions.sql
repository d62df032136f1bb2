-- Descriptions of entities for readers and models.

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

    v_created := loci_internal.insert_new_entities(p_namespace_id, v_batch, p_at);
    -- New statement, new snapshot: a name that another writer has just added is now seen.
    return query
    with known as materialized (
        -- apart from what was created: joined within the lateral, all of that would be read again for each name
        select k.* from loci_internal.find_batch_entities(p_namespace_id, v_batch) k
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

-- Insert the entities of a batch (entity_batch) that have no id yet, in order of canonical_name, unless another writer
-- was quicker. Ids follow the order of the items. Returns the ids of those that are new.
create or replace function loci_internal.insert_new_entities(p_namespace_id integer, p_batch jsonb, p_at timestamptz)
returns uuid[]
language plpgsql volatile
as $$
declare
    v_ids uuid[];
begin
    with added as (
        insert into loci_data.entities (namespace_id, id, name, canonical_name, type, aliases, description, confidence,
                                        initial_confidence, observations, metadata, first_seen_at, created_at,
                                        updated_at)
        select p_namespace_id, b.new_id, b.name, b.canonical_name, coalesce(b.type, 'unknown'),
               loci_internal.clean_aliases(b.aliases, b.canonical_name), b.description,
               coalesce(b.stated, 0.5), coalesce(b.stated, 0.5), 0, coalesce(b.metadata, '{}'), least(b.seen_at, p_at),
               p_at, p_at
        from (select loci_api.uuid7() as new_id, n.*
              from (select * from jsonb_to_recordset(p_batch) as b(
                        ordinals integer[], id uuid, name text, canonical_name text, type text, aliases text[],
                        description text, metadata jsonb, stated double precision, seen_at timestamptz)
                    where b.id is null order by b.ordinals[1]) n) b
        order by b.canonical_name
        on conflict (namespace_id, canonical_name) where merged_into is null do nothing
        returning entities.id
    )
    select array_agg(a.id) into v_ids from added a;
    return v_ids;
end $$;
comment on function loci_internal.insert_new_entities(integer, jsonb, timestamptz) is
    'Insert the entities of a batch that are not known; their ids.';

-- Which entities does a batch (entity_batch) mean, now that all are there? By id, or by name. Inlines.
create or replace function loci_internal.find_batch_entities(p_namespace_id integer, p_batch jsonb)
returns table (ordinals integer[], type text, aliases text[], description text, metadata jsonb, entity_id uuid,
               entity_name text)
language sql stable
as $$
    select b.ordinals, b.type, b.aliases, b.description, b.metadata, e.id, e.name
    from jsonb_to_recordset(p_batch) as b(
        ordinals integer[], id uuid, canonical_name text, type text, aliases text[], description text, metadata jsonb)
    cross join lateral (
        select e.id, e.name from loci_data.entities e
        where b.id is not null and e.namespace_id = p_namespace_id and e.id = b.id
        union all
        select e.id, e.name from loci_data.entities e
        where b.id is null and e.namespace_id = p_namespace_id and e.canonical_name = b.canonical_name
          and e.merged_into is null offset 0) e
$$;
comment on function loci_internal.find_batch_entities(integer, jsonb) is
    'Entities that a batch means.';

-- Which entities does a model need to know that reads these texts? Those that the texts name (find_entities_in_text),
-- then the
-- most mentioned, at most p_limit. Cost: the texts, and one pass over the namespace's entities. Security definer: past
-- the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci_api.entity_catalogue(p_namespace text, p_texts text[], p_limit integer)
returns table (id uuid, name text, type text, aliases text[], mentions integer, named boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_named uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    v_named := array(
        select f.id from (select distinct on (n.id) n.id, t.place, n.position
                          from unnest(p_texts) with ordinality t(content, place)
                          cross join lateral loci_internal.find_entities_in_text(v_ns, t.content) n
                          order by n.id, t.place, n.position) f
        order by f.place, f.position, f.id limit p_limit);
    return query
    with named as (
        select e.*, u.place from unnest(v_named) with ordinality u(id, place)
        cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_ns and i.id = u.id
                            and i.merged_into is null and not i.hidden offset 0) e
    ), others as (
        select e.* from loci_data.entities e
        where e.namespace_id = v_ns and e.merged_into is null and not e.hidden and e.id <> all (v_named)
        order by e.mentions desc, e.id limit greatest(p_limit - cardinality(v_named), 0)
    )
    select n.id, n.name, n.type, n.aliases, n.mentions, true from named n
    union all
    select o.id, o.name, o.type, o.aliases, o.mentions, false from others o
    order by 6 desc, 5 desc, 1;
end $$;
comment on function loci_api.entity_catalogue(text, text[], integer) is
    'Entities that texts name, then the most mentioned ones. Errors: 42501, P0002, 22023.';

-- The entities of a namespace, or those of p_ids, as the reference MCP memory server shows them: see observed_graph.
create or replace function loci_internal.observed_entities(p_namespace_id integer, p_ids uuid[], p_names text[],
                                                           p_now timestamptz)
returns table (id uuid, name text, type text, observations jsonb, stated boolean, asked text[])
language sql stable set search_path = ''
as $$
    select e.id, e.name, coalesce(e.metadata ->> 'entityType', e.type) as type, o.observations,
           o.observations <> '[]' or e.metadata ? 'entityType' or e.type not in ('unknown', 'extracted') as stated,
           array(select p_names[p] from unnest(array_positions(p_ids, e.id)) p) as asked
    from loci_data.entities e
    cross join lateral (
        select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'content', m.content) order by m.doc_id),
                        '[]') as observations
        from loci_data.memory_mentions t
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = t.memory_id
             and m.source = 'mcp-memory' and loci.holds_at(m, p_now, null)
        where t.namespace_id = p_namespace_id and t.entity_id = e.id
          and exists (select from loci_data.entity_names n
                      where n.namespace_id = p_namespace_id and n.entity_id = e.id
                        and n.canonical_name = loci.canonical_name(m.metadata ->> 'entity'))) o
    where e.namespace_id = p_namespace_id and e.merged_into is null and not e.hidden
      and (p_names is null or e.id = any (p_ids))
$$;
comment on function loci_internal.observed_entities(integer, uuid[], text[], timestamptz) is
    'Entities with the observations that the reference MCP memory server shows.';

-- The graph as the reference MCP memory server shows it: stated entities with their observations, and relations. An
-- observation is a memory in force of source mcp-memory that mentions the entity, and whose metadata names it.
-- p_names: of these entities alone, those that only relations name too (stated: false); p_query: of those with this
-- text in name, type or an observation. asked: which of p_names mean it. Relations have one end among them, faded ones
-- too: that server forgets nothing. From entities over memory_mentions_entity to memories; the cost follows the
-- namespace's entities, or those named. Security definer: past the policies; checks the caller itself. Errors: 42501,
-- P0002 (namespace), 53400 (more entities than anybody reads).
create or replace function loci_api.observed_graph(p_namespace text, p_names text[] default null,
                                                   p_query text default null,
                                                   p_now timestamptz default clock_timestamp())
returns table (entities jsonb, relations jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_ids uuid[] := array(select loci_internal.find_entity_id(v_ns, a.name)
                          from unnest(p_names) with ordinality a(name, place) order by a.place);
begin
    if p_names is null and p_query is null
       and exists (select from loci_data.entities e where e.namespace_id = v_ns and e.merged_into is null
                   offset 10000) then
        raise configuration_limit_exceeded using message = 'the graph has more than 10,000 entities',
            hint = 'Ask for parts of it, with search_nodes or open_nodes.';
    end if;
    return query
    with entity as materialized (
        select o.* from loci_internal.observed_entities(v_ns, v_ids, p_names, p_now) o
    ), wanted as materialized (
        select e.* from entity e
        where (e.stated or p_names is not null)
          and (p_query is null or strpos(lower(e.name), lower(p_query)) > 0
               or strpos(lower(e.type), lower(p_query)) > 0
               or exists (select from jsonb_array_elements(e.observations) b
                          where strpos(lower(b ->> 'content'), lower(p_query)) > 0))
    )
    select (select coalesce(jsonb_agg(to_jsonb(w) order by w.id), '[]') from wanted w),
           (select coalesce(jsonb_agg(jsonb_build_object(
                'id', g.id, 'from', s.name, 'to', coalesce(t.name, g.literal),
                'relationType', coalesce(g.metadata ->> 'relationType', g.type)) order by g.id), '[]')
            from loci_data.edges g
            join loci_data.entities s on s.namespace_id = v_ns and s.id = g.source_id
            left join loci_data.entities t on t.namespace_id = v_ns and t.id = g.target_id
            where g.namespace_id = v_ns and loci.holds_at(g, p_now, null)
              and (p_names is null and p_query is null
                   or g.source_id in (select w.id from wanted w) or g.target_id in (select w.id from wanted w)));
end $$;
comment on function loci_api.observed_graph(text, text[], text, timestamptz) is
    'Entities with observations, and relations, as the reference MCP memory server has them; of these names, or with '
    'this text. Errors: 42501, P0002, 53400.';
