-- Import of entities, edges, links and turns.

-- Edges out of another system's file that no memory states. Those whose triple is believed are left alone, so a
-- repetition writes nothing. entities_written, in the first row: entities that are new because they are ends. Two
-- look-ups by name an item, three more for a new edge; the rest is observe_edges. Security definer: writes past the
-- policies; checks the caller itself. Errors: those of observe_edges.
create or replace function loci_api.import_edges(p_namespace text, p_edges jsonb)
returns table (ordinal integer, id uuid, outcome text, entities_written integer)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_at    timestamptz := clock_timestamp();
    v_made  integer := 0;
    v_items jsonb;
    v_new   jsonb;
begin
    select jsonb_agg(jsonb_build_object('ordinal', e.ordinal, 'item', e.item, 'id', e.id,
                                        'new', e.id is null and e.nth = 1)
                     order by e.ordinal) into v_items
    from (select i.ordinal, i.item, f.id,
                 row_number() over (partition by loci.canonical_name(i.item ->> 'source'),
                                                 loci.canonical_type(i.item ->> 'type'),
                                                 loci.canonical_name(i.item ->> 'target') order by i.ordinal) as nth
          from jsonb_array_elements(p_edges) with ordinality i(item, ordinal)
          cross join lateral (select loci_internal.find_edge_id(
              v_ns, loci_internal.find_entity_id(v_ns, i.item ->> 'source'), loci.canonical_type(i.item ->> 'type'),
              loci_internal.find_entity_id(v_ns, i.item ->> 'target'), null) as id offset 0) f) e;
    v_new := (select jsonb_agg(v -> 'item' order by (v ->> 'ordinal')::integer) from jsonb_array_elements(v_items) v
              where (v ->> 'new')::boolean);
    if v_new is not null then
        perform count(*) from loci_api.observe_edges(p_namespace, v_new);
        select count(*) into v_made
        from (select distinct loci_internal.find_entity_id(v_ns, n.name) as id from jsonb_array_elements(v_new) i(item)
              cross join lateral (values (i.item ->> 'source'), (i.item ->> 'target')) n(name)) f
        join loci_data.entities e on e.namespace_id = v_ns and e.id = f.id and e.created_at >= v_at;
    end if;
    return query select (v ->> 'ordinal')::integer, (v ->> 'id')::uuid,
                        case when (v ->> 'new')::boolean then 'written' else 'there' end,
                        case when (v ->> 'ordinal')::integer = 1 then v_made else 0 end
                 from jsonb_array_elements(v_items) v order by 1;
end $$;
comment on function loci_api.import_edges(text, jsonb) is
    'Write edges of another system''s file that are not believed yet: JSON array of {source, type, target}. One row an '
    'item, ordinal from 1: written or there, and how many entities are new. Errors: those of observe_edges.';

-- Entities out of another system's file. An entity that is known by name or alias keeps its description and metadata,
-- gains what they lack, and is not observed again. So a repetition writes nothing, whichever of two files comes last.
-- Set-based; a look-up by name an item. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002 (namespace), 22023.
create or replace function loci_api.import_entities(p_namespace text, p_entities jsonb)
returns table (ordinal integer, id uuid, outcome text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_at      timestamptz := clock_timestamp();
    v_written jsonb;
begin
    select jsonb_agg(jsonb_build_object('ordinal', d.ordinal, 'id', d.id, 'name', d.name, 'created', d.created)
                     order by d.ordinal) into v_written
    from loci_internal.describe_entities(v_ns, loci_internal.new_of_entities(v_ns, p_entities), v_at) d;
    perform loci_internal.observe_entities(v_ns, array_agg(
        ((w ->> 'id')::uuid, null, null, null, null, w ->> 'name')::loci_internal.sighting
            order by (w ->> 'ordinal')::integer), v_at)
    from jsonb_array_elements(v_written) w where (w ->> 'created')::boolean having count(*) > 0;
    return query select (w ->> 'ordinal')::integer, (w ->> 'id')::uuid,
                        case when (w ->> 'created')::boolean then 'written' else 'there' end
                 from jsonb_array_elements(v_written) w order by 1;
end $$;
comment on function loci_api.import_entities(text, jsonb) is
    'Write entities of another system''s file: JSON array of {name, type?, aliases?, description?, metadata?}. One row '
    'an item, ordinal from 1: written or there. Errors: 42501, P0002, 22023.';

-- Items of an import without what is said already of the entities that they name.
create or replace function loci_internal.new_of_entities(p_namespace_id integer, p_entities jsonb) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select jsonb_agg(case when k.id is null then i.item else
        i.item - case when k.description is null then '{}' else array['description'] end
        || jsonb_build_object('metadata', coalesce(nullif(i.item -> 'metadata', 'null'), '{}')
                                          - array(select jsonb_object_keys(k.metadata))) end order by i.ordinal)
    from jsonb_array_elements(p_entities) with ordinality i(item, ordinal)
    left join lateral (
        select e.id, e.description, e.metadata from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = loci_internal.find_entity_id(p_namespace_id, i.item ->> 'name') limit 1) k on true
$$;
comment on function loci_internal.new_of_entities(integer, jsonb) is
    'Entities of an import, without descriptions and metadata that are there.';

-- Links between memories of an import, which may have been merged into others. Security definer: link_memories checks
-- the caller. A link that is there stays as it is, and so does one from a lineage to itself. Three look-ups a link,
-- planned for any namespace. Errors: those of link_memories.
create or replace function loci_api.import_links(p_namespace text, p_links jsonb)
returns table (ordinal integer, outcome text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_link record;
begin
    for v_link in
        select l.place, l.type, l.source_id, l.target_id,
               (select m.lineage_id from loci_data.memories m
                where m.namespace_id = v_ns and m.id = l.source_id) as source,
               (select m.lineage_id from loci_data.memories m
                where m.namespace_id = v_ns and m.id = l.target_id) as target
        from rows from (jsonb_to_recordset(p_links) as (source_id uuid, target_id uuid, type text))
             with ordinality as l(source_id, target_id, type, place)
        order by l.place
    loop
        ordinal := v_link.place;
        if v_link.source = v_link.target or exists (
            select from loci_data.memory_links k where k.namespace_id = v_ns and k.source_id = v_link.source
               and k.target_id = v_link.target and k.type = v_link.type and k.superseded_at is null) then
            outcome := 'there';
        else
            perform count(*) from loci_api.link_memories(p_namespace, v_link.source_id, v_link.target_id, v_link.type);
            outcome := 'written';
        end if;
        return next;
    end loop;
end $$;
comment on function loci_api.import_links(text, jsonb) is
    'Link memories of an import: JSON array of {source_id, target_id, type}. One row an item, ordinal from 1: written '
    'or there. Errors: those of link_memories.';

-- Turns out of another system's file, into their sessions: by when they were said, where all that are new of a session
-- say that, else in the order given. A turn is there already if its session has one with the same source_id in its
-- metadata. Sessions are locked in order of their names. Cost: the turns of the sessions are read once a call (primary
-- key), by plans that serve every session. Security definer: writes past the policies; checks the caller itself.
-- Errors: those of add_turns.
create or replace function loci_api.import_turns(p_namespace text, p_turns jsonb)
returns table (ordinal integer, outcome text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_session record;
    v_new     integer[] := '{}';
    v_wanted  integer[];
begin
    for v_session in
        select t.name, array_agg(t.ordinal order by t.ordinal) as ordinals
        from (select i.turn ->> 'session_id' collate "C" as name, i.ordinal::integer
              from jsonb_array_elements(p_turns) with ordinality i(turn, ordinal)) t
        group by t.name order by t.name
    loop
        perform loci_internal.lock_session(v_ns, v_session.name);
        v_wanted := array(
            select min(o) from unnest(v_session.ordinals) o
            cross join lateral (select p_turns -> (o - 1) -> 'metadata' ->> 'source_id' as key) k
            where k.key is null or k.key not in (  -- hashed, whatever is thought of how many there are
                select t.metadata ->> 'source_id' from loci_data.conversation_turns t
                where t.namespace_id = v_ns and t.session_id = v_session.name
                  and t.metadata ->> 'source_id' is not null)
            group by k.key);
        v_wanted := array(
            select w.o from (select u.o, p_turns -> (u.o - 1) ->> 'said_at' as said from unnest(v_wanted) u(o)) w
            order by case when (select bool_and(p_turns -> (a - 1) ->> 'said_at' is not null) from unnest(v_wanted) a)
                          then w.said::timestamptz end, w.o);
        if v_wanted <> '{}' then
            perform count(*) from loci_api.add_turns(
                p_namespace, v_session.name,
                (select jsonb_agg((p_turns -> (u.o - 1)) - 'session_id' order by u.n)
                 from unnest(v_wanted) with ordinality u(o, n)));
            v_new := v_new || v_wanted;
        end if;
    end loop;
    return query select o, case when o = any (v_new) then 'written' else 'there' end
                 from generate_series(1, jsonb_array_length(p_turns)) o order by o;
end $$;
comment on function loci_api.import_turns(text, jsonb) is
    'Append turns of another system''s file: JSON array of {session_id, role, content, metadata: {source_id}, '
    'said_at?}. One row an item, ordinal from 1: written or there. Errors: those of add_turns.';

-- How many entities are new since a moment because these memories name them, or are ends of edges that they state? Two
-- look-ups a memory (memory_mentions, edge_observations_memory), two an edge; planned for any namespace.
create or replace function loci_internal.count_new_entities(p_namespace_id integer, p_memory_ids uuid[],
                                                            p_at timestamptz) returns integer
language sql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
    select count(distinct e.id)::integer
    from unnest(p_memory_ids) u(id)
    cross join lateral (
        select m.entity_id from loci_data.memory_mentions m
        where m.namespace_id = p_namespace_id and m.memory_id = u.id
        union all
        select v.id from loci_data.edge_observations o
        join loci_data.edges g on g.namespace_id = p_namespace_id and g.id = o.edge_id
        cross join lateral (values (g.source_id), (g.target_id)) v(id)
        where o.namespace_id = p_namespace_id and o.memory_id = u.id offset 0) n
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id and e.created_at >= p_at
$$;
comment on function loci_internal.count_new_entities(integer, uuid[], timestamptz) is
    'Entities that are new since a moment because memories name them.';
