-- Names found in memories: claims, candidates, mentions.

-- Which memories does the worker read for names next? A fair share of each namespace that waits, oldest first; taken
-- off the queue in the caller's transaction, so that a worker that dies gives them back. A namespace in which memories
-- are being erased waits (lock_background_work). Security definer: reads all namespaces.
create or replace function loci_api.claim_memories_to_name(p_limit integer)
returns table (namespace_id integer, memory_id uuid, content text, source text, language text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_waiting integer[];
begin
    perform loci_internal.require_operator('claim names');
    v_waiting := array(select s.w
                       from (select w from loci_internal.waiting_namespaces('name_queue') w
                             order by random() limit p_limit) s
                       where loci_internal.lock_background_work(s.w, 'worker', false));
    return query
    with claimed as (
        select q.namespace_id, q.memory_id
        from unnest(v_waiting) n(id)
        cross join lateral (
            select e.namespace_id, e.memory_id from loci_data.name_queue e
            where e.namespace_id = n.id order by e.enqueued_at
            limit greatest(p_limit / greatest(cardinality(v_waiting), 1), 1)
            for update skip locked) q
    ), gone as (
        delete from loci_data.name_queue q using claimed c where q.namespace_id = c.namespace_id
            and q.memory_id = c.memory_id
        returning q.namespace_id, q.memory_id
    )
    select g.namespace_id, g.memory_id, left(loci_internal.text_with_subject(m.content, m.about), 100000), m.source,
           n.language::text
    from gone g
    join loci_data.namespaces n on n.id = g.namespace_id
    join loci_data.memories m on m.namespace_id = g.namespace_id and m.id = g.memory_id;
end $$;
comment on function loci_api.claim_memories_to_name(integer) is
    'Take up to p_limit memories off name_queue, shared fairly between namespaces. Operator only.';

-- Names that the worker found in memories, with what they end with (a capitalised word before a name may not belong to
-- it). A name of a known entity is a mention of it. A new name waits until a second memory has it, and then becomes an
-- entity of type extracted, mentioned by both: the longest that two memories share, not what it ends with. Names
-- shorter than setting extracted_length are refused. p_namespaces, p_memories and p_names are parallel, and so are
-- p_read_namespaces and p_read: the memories that the worker has read, in whose texts known entities are looked for as
-- well (known_mentions). All mentions of a namespace are written at once, because their entities are locked in order.
-- Workers take turns in a namespace, each at namespaces in order: of two that read one memory each, both would see the
-- first memory that has a name. Generic plans: by what statistics say of other namespaces, a new one has one row, and
-- its names would be joined by reading all of them for each. Security definer; the operator's.
create or replace function loci_api.store_found_names(
    p_namespaces integer[], p_memories uuid[], p_names text[], p_read_namespaces integer[] default '{}',
    p_read uuid[] default '{}')
returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns       integer;
    v_shortest integer;
    v_seen     text[];
    v_new      jsonb;
    v_known    jsonb;
    v_total    integer := 0;
begin
    perform loci_internal.require_operator('note names');
    for v_ns in select distinct u from unnest(p_namespaces || p_read_namespaces) u order by u loop
        v_shortest := (loci_internal.settings(v_ns) ->> 'extracted_length')::integer;
        v_seen := array(select distinct loci.canonical_name(n.name)
                        from unnest(p_namespaces, p_names) n(namespace_id, name) where n.namespace_id = v_ns);
        if cardinality(v_seen) > 0 then
            perform loci_internal.take_turn(v_ns, 'names');
        end if;
        insert into loci_data.name_candidates (namespace_id, canonical_name, memory_id, name)
        select v_ns, loci.canonical_name(n.name), n.memory_id, min(n.name)
        from unnest(p_namespaces, p_memories, p_names) n(namespace_id, memory_id, name)
        where n.namespace_id = v_ns and length(n.name) between v_shortest and 255
          and exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = n.memory_id)
        group by 2, 3 order by 2, 3
        on conflict do nothing;

        v_known := loci_internal.take_known_candidates(v_ns, v_seen);
        v_new := loci_internal.shared_candidates(v_ns, v_seen);
        if v_new is not null then
            perform loci_internal.save_entities(v_ns, v_new, clock_timestamp());
            v_known := v_known || loci_internal.take_known_candidates(v_ns, v_seen);
        end if;
        v_known := nullif(v_known || coalesce(loci_internal.known_mentions(v_ns, array(
            select r.id from unnest(p_read_namespaces, p_read) r(namespace_id, id) where r.namespace_id = v_ns)),
                   '[]'), '[]');
        v_total := v_total + coalesce(loci_internal.insert_mentions(v_ns, v_known), 0);
        perform loci_internal.lower_first_seen(v_ns, array_agg(k.entity_id), array_agg(m.valid_from), clock_timestamp())
        from jsonb_to_recordset(v_known) k(memory_id uuid, entity_id uuid)
        join loci_data.memories m on m.namespace_id = v_ns and m.id = k.memory_id
        having count(*) > 0;
    end loop;
    return v_total;
end $$;
comment on function loci_api.store_found_names(integer[], uuid[], text[], integer[], uuid[]) is
    'Mentions and extracted entities from names found in memories, and mentions of known entities in those read; '
    'returns the number of new mentions. Operator only.';

-- Candidates that are names of entities, as mentions of them (JSON array of {memory_id, entity_id, mention_text}); they
-- wait no longer, nor do shorter candidates at their end in the same memory. Index ranges of the primary key, and by
-- memory.
create or replace function loci_internal.take_known_candidates(p_namespace_id integer, p_names text[]) returns jsonb
language sql volatile
as $$
    with known as materialized (
        select c.canonical_name, c.memory_id, c.name, loci_internal.find_entity_id(p_namespace_id, c.name) as entity_id
        from loci_data.name_candidates c
        where c.namespace_id = p_namespace_id and c.canonical_name = any (p_names)
          and exists (select from loci_data.entity_names e where e.namespace_id = p_namespace_id
                      and e.canonical_name = c.canonical_name)
    ), gone as (
        delete from loci_data.name_candidates c using known k
        where c.namespace_id = p_namespace_id and c.memory_id = k.memory_id
          and (c.canonical_name = k.canonical_name
               or right(k.canonical_name, length(c.canonical_name) + 1) = ' ' || c.canonical_name)
    )
    select coalesce(jsonb_agg(jsonb_build_object('memory_id', k.memory_id, 'entity_id', k.entity_id,
                                                 'mention_text', k.name)), '[]')
    from known k
$$;
comment on function loci_internal.take_known_candidates(integer, text[]) is
    'Take candidates off that are names of entities by now; returns them as mentions.';

-- Candidates that two memories share, as entities to save (JSON, null for none). A memory where it is the end of a
-- longer one that is shared as well does not count. Index ranges of the primary key, and by memory; `offset 0` keeps
-- these probes from becoming a join.
create or replace function loci_internal.shared_candidates(p_namespace_id integer, p_names text[]) returns jsonb
language sql stable
as $$
    with waiting as materialized (
        select c.canonical_name, c.memory_id, c.name, count(*) over (partition by c.canonical_name) as memories
        from loci_data.name_candidates c
        where c.namespace_id = p_namespace_id and c.canonical_name = any (p_names)
    ), shared as (
        select w.canonical_name, min(w.name) as name, min(m.valid_from) as seen_at
        from waiting w
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = w.memory_id
        where w.memories > 1 and not exists (
            select from loci_data.name_candidates o
            where o.namespace_id = p_namespace_id and o.memory_id = w.memory_id
              and right(o.canonical_name, length(w.canonical_name) + 1) = ' ' || w.canonical_name
              and exists (select from loci_data.name_candidates t
                          where t.namespace_id = p_namespace_id and t.canonical_name = o.canonical_name
                            and t.memory_id <> o.memory_id offset 0) offset 0)
        group by w.canonical_name having count(*) > 1
    )
    select jsonb_agg(jsonb_build_object('name', s.name, 'type', 'extracted', 'seen_at', s.seen_at)
                     order by s.canonical_name)
    from shared s
    where not exists (select from loci_data.entity_names e where e.namespace_id = p_namespace_id
                      and e.canonical_name = s.canonical_name)
$$;
comment on function loci_internal.shared_candidates(integer, text[]) is
    'Names that two memories share and no entity has yet, as save_entities takes them.';

-- Something said of these entities dates from these moments: lower first_seen_at where that is earlier. Parallel
-- arrays. Rows are locked in order of canonical_name, like everywhere.
create or replace function loci_internal.lower_first_seen(p_namespace_id integer, p_ids uuid[],
                                                          p_seen_at timestamptz[], p_at timestamptz) returns void
language sql volatile
as $$
    with seen as materialized (
        select u.id, min(u.seen_at) as seen_at from unnest(p_ids, p_seen_at) u(id, seen_at) where u.seen_at is not null
        group by u.id
    ), locked as materialized (
        select e.id from loci_data.entities e join seen s on s.id = e.id
        where e.namespace_id = p_namespace_id and e.id = any(array(select s.id from seen s))
          and s.seen_at < e.first_seen_at
        order by e.canonical_name
        for no key update of e
    )
    update loci_data.entities e set first_seen_at = s.seen_at, updated_at = greatest(e.updated_at, p_at)
    from seen s
    where e.namespace_id = p_namespace_id and e.id = any(array(select l.id from locked l)) and e.id = s.id
      and s.seen_at < e.first_seen_at
$$;
comment on function loci_internal.lower_first_seen(integer, uuid[], timestamptz[], timestamptz) is
    'Lower first_seen_at of entities to when something said of them dates from.';

-- Record which memories mention which entities, once a pair, and count them in entities.mentions, but for forgotten
-- memories. A mention found in a
-- text is no observation: it says that a name stands there. Idempotent. Memories are locked first (lock_evidence), then
-- entities, in order of canonical_name, like everywhere. Returns how many mentions are new.
create or replace function loci_internal.insert_mentions(p_namespace_id integer, p_mentions jsonb) returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_new integer;
begin
    perform loci_internal.current_operation_id();  -- of which its mentions and evidence are
    perform loci_internal.lock_evidence(p_namespace_id, array(
        select distinct i.memory_id from jsonb_to_recordset(p_mentions) i(memory_id uuid)));
    perform from loci_data.entities e
    where e.namespace_id = p_namespace_id
      and e.id = any(array(select distinct i.entity_id from jsonb_to_recordset(p_mentions) i(entity_id uuid)))
    order by e.canonical_name for no key update;
    with added as (
        insert into loci_data.memory_mentions as m (namespace_id, memory_id, entity_id, mention_text)
        select distinct on (i.memory_id, i.entity_id) p_namespace_id, i.memory_id, i.entity_id,
                        coalesce(i.mention_text, '')
        from rows from (jsonb_to_recordset(p_mentions) as (memory_id uuid, entity_id uuid, mention_text text))
             with ordinality as i(memory_id, entity_id, mention_text, ordinal)
        order by i.memory_id, i.entity_id, i.ordinal
        on conflict (namespace_id, memory_id, entity_id) do nothing
        returning m.entity_id, m.memory_id
    ), counted as materialized (
        select a.entity_id, count(*)::integer as times from added a
        cross join lateral (select from loci_data.memories o where o.namespace_id = p_namespace_id
                            and o.id = a.memory_id and o.status = 'active' offset 0) o
        group by a.entity_id
    ), raised as (
        update loci_data.entities e set mentions = e.mentions + c.times
        from counted c
        where e.namespace_id = p_namespace_id and e.id = any(array(select x.entity_id from counted x))
          and e.id = c.entity_id
    )
    select coalesce(sum(c.times), 0) into v_new from counted c;
    return v_new;
end $$;
comment on function loci_internal.insert_mentions(integer, jsonb) is
    'Store mentions, JSON array of {memory_id, entity_id, mention_text?}, and raise the entities'' counters by '
    'those that are new.';
