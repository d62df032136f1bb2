-- Remember: writes of memories with what they state of the graph.

-- Write memories: the one way in, for one item or thousands. All or nothing: one transaction. Named lineages are locked
-- first, in order of name; only then is the clock read, so that the order of versions is the order of the locks. A
-- place in the hierarchy comes after the versions. Items of one lineage in a batch follow each other in rounds. Graph
-- parts of items come last. A batch is planned for its size and the tables'; a few items use generic plans of index
-- look-ups (planning took longer than they do). Cost: a handful of set-based statements; the triggers index words in
-- the same transaction. Errors: 42501, P0002 (namespace), 22023 / 23514 (a field), 23503 (parent_id), 23505 (a
-- duplicate that is to be refused), P0001 (cycle).
create or replace function loci_api.remember(p_namespace text, p_items jsonb)
returns table (ordinal integer, id uuid, superseded uuid, duplicate boolean, ignored text[], cut_short jsonb)
language plpgsql volatile security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_items    loci_internal.memory_input[] := loci_internal.parse_memories(v_ns, p_items);
    v_outcomes loci_internal.memory_outcome[] := '{}';
    v_round    record;
    v_at       timestamptz;
begin
    perform loci_internal.check_on_duplicate(v_items);
    if cardinality(v_items) > 20 then
        set local plan_cache_mode = force_custom_plan;
    end if;
    perform loci_internal.lock_lineages(v_ns, v_items);
    v_at := clock_timestamp();

    select coalesce(array_agg(o), '{}') into v_outcomes from loci_internal.insert_memories(v_ns, v_items, v_at) o;
    for v_round in
        select i.round, array_agg(i order by i.ordinal) as items from unnest(v_items) i
        where i.lineage is not null group by i.round order by i.round
    loop
        perform set_config('plan_cache_mode', case when cardinality(v_round.items) > 20 then 'force_custom_plan'
                           else 'force_generic_plan' end, true);
        v_outcomes := v_outcomes || array(
            select o from loci_internal.insert_versions(v_ns, v_round.items,
                                                        v_at + (v_round.round - 1) * interval '1 microsecond') o);
    end loop;
    perform set_config('plan_cache_mode', case when cardinality(v_items) > 20 then 'force_custom_plan'
                       else 'force_generic_plan' end, true);

    if exists (select from unnest(v_items) i where i.parent_id is not null) then
        perform loci_internal.place_memories(v_ns, v_items, v_outcomes);
    end if;
    if exists (select from unnest(v_outcomes) o where o.duplicate) then
        v_outcomes := loci_internal.apply_on_duplicate(v_ns, v_items, v_outcomes, v_at);
    end if;
    perform loci_internal.upsert_memory_vectors(v_ns, array_agg(o.id), array_agg(i.embedding::halfvec))
    from unnest(v_items) i join unnest(v_outcomes) o on o.ordinal = i.ordinal and not o.duplicate
    where i.embedding is not null having count(*) > 0;
    perform loci_internal.remember_graph(v_ns, p_items, v_outcomes, v_at);
    return query select o.ordinal, o.id, o.superseded, o.duplicate, o.ignored, o.cut_short
                 from unnest(v_outcomes) o order by o.ordinal;
end $$;
comment on function loci_api.remember(text, jsonb) is
    'Write memories (JSON array of items) in one transaction: new rows, new versions of lineages, or reinforced '
    'duplicates (on_duplicate: reinforce, update or refuse). Returns one row an item, in order: what it superseded, '
    'what a duplicate stated otherwise (ignored), and where its validity was cut short.';

-- The items of a write, typed: one scan of the JSON. An item that states no valid_from and is no episode may fold into
-- an exact duplicate. Metadata of null are none, and those that are not stated are inherited. An item that corrects or
-- replaces a memory is written to its lineage. round: how many items of the same lineage stand before it, so that a
-- round never has two. Errors: 22023 with the item's position and field.
create or replace function loci_internal.parse_memories(p_namespace_id integer, p_items jsonb)
returns loci_internal.memory_input[]
language sql volatile set search_path = ''
as $$
    select array_agg(row(i.*)::loci_internal.memory_input order by i.ordinal)
    from (
        select (i.ordinal - 1)::integer as ordinal,
               row_number() over (partition by i.lineage order by i.ordinal)::integer,
               coalesce(i.id, loci_api.uuid7()), i.content, loci_internal.content_hash(i.content),
               case when (i.details).layer = 3 or i.valid_from is not null or i.valid_to is not null
                   or i.corrects is not null then null
                    else coalesce(i.lineage, loci_internal.wording_scope(i.content, (i.details).about, i.source,
                                                                         c.agent)) end,
               i.lineage, i.parent_id, i.valid_from, i.valid_to, i.source, i.session_id, i.embedding, i.corrects,
               null::timestamptz, null::uuid, false, null::uuid, null::timestamptz, false,
               coalesce(i.on_duplicate, 'reinforce'), i.details
        from (
            select u.id, u.content, -- only what corrects something is looked up: without statistics that may read all
                   case when u.replaces is not null
                       then loci_internal.lineage_to_replace(p_namespace_id, u.replaces, u.lineage)
                       else coalesce(u.lineage, (select m.lineage from loci_data.memories m where u.corrects is not null
                                                 and m.namespace_id = p_namespace_id and m.id = u.corrects),
                                     u.corrects::text) end as lineage,
                   u.parent_id, u.valid_from, u.valid_to, loci_internal.speaker_of(u.source, u."user") as source,
                   u.session_id, u.embedding, u.corrects, u.on_duplicate, jsonb_populate_record(
                       null::loci.memory_details, case when u.item ->> 'about' is null then u.item
                           else loci_internal.name_subject(p_namespace_id, u.item) end
                           || case when u.item -> 'metadata' = 'null' then '{"metadata": {}}'::jsonb else '{}' end
                   ) as details,
                   u.ordinal
            from rows from (jsonb_to_recordset(p_items) as (
                     id uuid, content text, lineage text, parent_id uuid, valid_from timestamptz, valid_to timestamptz,
                     source text,
                     session_id text, embedding real[], corrects uuid, replaces uuid, on_duplicate text,
                     "user" text),
                     jsonb_array_elements(p_items)) with ordinality
                 as u(id, content, lineage, parent_id, valid_from, valid_to, source, session_id, embedding, corrects,
                      replaces, on_duplicate, "user", item, ordinal) offset 0) i  -- columns: calls inline
        cross join (select loci.current_agent() as agent offset 0) c
    ) i
$$;
comment on function loci_internal.parse_memories(integer, jsonb) is
    'JSON array of memory items as memory_input[].';

-- The lineage of the memory that an item replaces. Errors: P0002, 22023 (replaces).
create or replace function loci_internal.lineage_to_replace(p_namespace_id integer, p_id uuid, p_stated text)
returns text
language plpgsql stable set search_path = ''
as $$
declare
    v_lineage text;
begin
    select m.lineage into v_lineage from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_id;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'replaces';
    elsif v_lineage <> p_stated then
        raise invalid_parameter_value using column = 'replaces',
            message = format('memory %s is a version of lineage %L, not of %L', p_id, v_lineage, p_stated);
    end if;
    return v_lineage;
end $$;
comment on function loci_internal.lineage_to_replace(integer, uuid, text) is
    'The lineage of the memory that a new one replaces. Errors: P0002, 22023.';

-- An item with the name of the entity that it states to be about, where it gives an id. Errors: P0002 (about).
create or replace function loci_internal.name_subject(p_namespace_id integer, p_item jsonb) returns jsonb
language plpgsql stable set search_path = ''
as $$
declare
    v_name text;
begin
    if p_item ->> 'about' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        select e.name into v_name from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = loci_internal.surviving_entity_id(p_namespace_id, (p_item ->> 'about')::uuid);
        if v_name is null then
            raise no_data_found using column = 'about',
                message = format('entity %s does not exist', p_item ->> 'about');
        end if;
        return jsonb_set(p_item, '{about}', to_jsonb(v_name));
    end if;
    return p_item;
end $$;
comment on function loci_internal.name_subject(integer, jsonb) is
    'An item whose subject is given by its name. Errors: P0002.';

-- Write one memory and show it: what POST /memories replies, in one round trip. Each statement in here sees what the
-- one before wrote. The write checks the caller; what it wrote is read without another check. Errors: those of
-- remember.
create or replace function loci_api.remember_one(p_namespace text, p_item jsonb)
returns table (superseded uuid, duplicate boolean, ignored text[], cut_short jsonb, memory loci.memory_record)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_outcome record;
    v_ns      integer;
    v_at      timestamptz;
begin
    select r.* into v_outcome from loci_api.remember(p_namespace, jsonb_build_array(p_item)) r;
    v_ns := (select n.id from loci_data.namespaces n
             where n.name = coalesce(p_namespace, loci_internal.default_namespace()));
    v_at := clock_timestamp();
    return query
    select v_outcome.superseded, v_outcome.duplicate, v_outcome.ignored, v_outcome.cut_short,
           loci.memory_record(m, v_at, p.parent_id)
    from (select w.* from loci_data.memories w where w.namespace_id = v_ns and w.id = v_outcome.id limit 1) m
    left join lateral loci_internal.parent_of(m, v_at, null) p on true;
end $$;
comment on function loci_api.remember_one(text, jsonb) is
    'Write a memory (see remember) and return it, with what became of the write.';

-- The graph part of a write: entities that items state or are about, and edges, with the memory as evidence of both, in
-- its session if it has one. In the transaction of the memories; idempotent per memory.
create or replace function loci_internal.remember_graph(p_namespace_id integer, p_items jsonb,
                                                        p_outcomes loci_internal.memory_outcome[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[];  -- of the memories, in the order of the items
begin
    if not (p_items @? '$[*].entities[*] ? (@ != null)' or p_items @? '$[*].edges[*] ? (@ != null)'
            or p_items @? '$[*].about ? (@ != null)') then
        return;
    end if;
    v_ids := array(select o.id from unnest(p_outcomes) o order by o.ordinal);
    perform count(*) from loci_internal.save_entities(p_namespace_id, (
        select jsonb_agg(e.entity || jsonb_build_object('memory_id', v_ids[i.ordinal], 'session_id',
                                                        i.item -> 'session_id', 'seen_at', i.item -> 'valid_from')
                         order by i.ordinal, e.nth)
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        cross join lateral (
            select * from jsonb_array_elements(nullif(i.item -> 'entities', 'null')) with ordinality
            union all
            select jsonb_build_object('name', loci_internal.name_subject(p_namespace_id, i.item) -> 'about'), 0
            where i.item ->> 'about' is not null) e(entity, nth)),
        p_at)
    where p_items @? '$[*].entities[*] ? (@ != null)' or p_items @? '$[*].about ? (@ != null)';

    perform count(*) from loci_internal.write_edges(p_namespace_id, loci_internal.parse_edges(
        loci_internal.date_stated_edges(p_namespace_id, p_items, v_ids, p_at), p_at), p_at)
    where p_items @? '$[*].edges[*] ? (@ != null)';
end $$;
comment on function loci_internal.remember_graph(integer, jsonb, loci_internal.memory_outcome[], timestamptz) is
    'Save entities, mentions and edges that written items carry.';

-- The edges that items state, as a write of edges takes them. An edge holds when the memory does, where that states a
-- time. It was observed when it says so, else when an episode was, else now: a fact about 1980 that is told today was
-- observed today. A look-up by id for each item that states edges, planned for any namespace.
create or replace function loci_internal.date_stated_edges(p_namespace_id integer, p_items jsonb, p_ids uuid[],
                                                           p_at timestamptz) returns jsonb
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    return (
    select jsonb_agg(e.edge || jsonb_build_object(
        'memory_id', p_ids[i.ordinal], 'session_id', i.item -> 'session_id',
        'observed_at', coalesce(e.edge ->> 'observed_at', case when m.layer = 3 then m.valid_from else p_at end::text),
        'valid_from', coalesce(e.edge ->> 'valid_from', case when s.dated then m.valid_from end::text),
        'valid_to', coalesce(e.edge ->> 'valid_to', i.item ->> 'valid_to',
                             case when i.item ->> 'corrects' is not null then m.valid_to end::text)
        ) order by i.ordinal, e.nth)
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    cross join lateral (select num_nonnulls(i.item ->> 'valid_from', i.item ->> 'valid_to',
                                            i.item ->> 'corrects') > 0 as dated) s
    cross join lateral jsonb_array_elements(nullif(i.item -> 'edges', 'null')) with ordinality e(edge, nth)
    cross join lateral (select w.layer, w.valid_from, w.valid_to from loci_data.memories w
                        where w.namespace_id = p_namespace_id and w.id = p_ids[i.ordinal] limit 1) m);
end $$;
comment on function loci_internal.date_stated_edges(integer, jsonb, uuid[], timestamptz) is
    'Edges that items state, with their memories and times.';
