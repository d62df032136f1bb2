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
    v_states   record;
    v_at       timestamptz;
begin
    perform loci_internal.check_on_duplicate(v_items);
    if cardinality(v_items) > 20 then
        set local plan_cache_mode = force_custom_plan;
    end if;
    select bool_or(i.lineage is not null) as lineages, bool_or(i.parent_id is not null) as parents,
           bool_or(i.embedding is not null) as vectors into v_states
    from unnest(v_items) i;
    if v_states.lineages then
        perform loci_internal.lock_lineages(v_ns, v_items);
    end if;
    v_at := clock_timestamp();

    select coalesce(array_agg(o), '{}') into v_outcomes from loci_internal.insert_memories(v_ns, v_items, v_at) o;
    if v_states.lineages then
        v_outcomes := v_outcomes || array(
            select o from loci_internal.insert_version_rounds(v_ns, v_items, v_at) o);
    end if;

    if v_states.parents then
        perform loci_internal.place_memories(v_ns, v_items, v_outcomes);
    end if;
    if exists (select from unnest(v_outcomes) o where o.duplicate) then
        v_outcomes := loci_internal.apply_on_duplicate(v_ns, v_items, v_outcomes, v_at);
    end if;
    if v_states.vectors then
        perform loci_internal.upsert_memory_vectors(v_ns, array_agg(o.id), array_agg(i.embedding::halfvec))
        from unnest(v_items) i join unnest(v_outcomes) o on o.ordinal = i.ordinal and not o.duplicate
        where i.embedding is not null having count(*) > 0;
    end if;
    perform loci_internal.remember_graph(v_ns, p_items, v_outcomes, v_at);
    return query select o.ordinal, o.id, o.superseded, o.duplicate, o.ignored, o.cut_short
                 from unnest(v_outcomes) o order by o.ordinal;
end $$;
comment on function loci_api.remember(text, jsonb) is
    'Write memories (JSON array of items) in one transaction: new rows, new versions of lineages, or reinforced '
    'duplicates (on_duplicate: reinforce, update or refuse). Returns one row an item, in order: what it superseded, '
    'what a duplicate stated otherwise (ignored), and where its validity was cut short.';

-- Write items that name a lineage: those of one lineage follow each other in rounds, a microsecond apart. Each round is
-- planned for its size. Errors: those of insert_versions.
create or replace function loci_internal.insert_version_rounds(
    p_namespace_id integer, p_items loci_internal.memory_input[], p_at timestamptz)
returns setof loci_internal.memory_outcome
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_round record;
begin
    for v_round in
        select i.round, array_agg(i order by i.ordinal) as items from unnest(p_items) i
        where i.lineage is not null group by i.round order by i.round
    loop
        perform set_config('plan_cache_mode', case when cardinality(v_round.items) > 20 then 'force_custom_plan'
                           else 'force_generic_plan' end, true);
        return query select * from loci_internal.insert_versions(
            p_namespace_id, v_round.items, p_at + (v_round.round - 1) * interval '1 microsecond');
    end loop;
end $$;
comment on function loci_internal.insert_version_rounds(integer, loci_internal.memory_input[], timestamptz) is
    'Insert versions of locked lineages, one of each lineage at a time.';

-- Write one memory and show it: what POST /memories replies, in one round trip. One that states nothing but itself is a
-- row (insert_memory), and shown as that was written; any other, and what is there already, goes the way of a batch.
-- Each statement in here sees what the one before wrote. The write checks the caller; what it wrote is read without
-- another check. Errors: those of remember.
create or replace function loci_api.remember_one(p_namespace text, p_item jsonb)
returns table (superseded uuid, duplicate boolean, ignored text[], cut_short jsonb, memory loci.memory_record)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_outcome record;
    v_ns      integer;
    v_at      timestamptz;
    v_memory  loci_data.memories;
begin
    if loci_internal.is_plain_item(p_item) then
        v_ns := loci_internal.authorize(p_namespace, 'writer');
        v_memory := loci_internal.insert_memory(
            v_ns, (loci_internal.parse_memories(v_ns, jsonb_build_array(p_item)))[1], clock_timestamp());
        if v_memory.id is not null then
            duplicate := false;
            memory := loci.memory_record(v_memory, clock_timestamp(), null);
            return next;
            return;
        end if;
    end if;
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
