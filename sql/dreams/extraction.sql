-- Extraction pass: turns and episodes to read, and the facts that are written.

-- Write what a model has read out of conversations and episodes, and refuse what the rows forbid. p_plan:
--   entities  [{key, id? | name, type?, aliases?, description?, evidence}]   key: what edges call it; evidence []:
--            named only as an end
--   edges     [{source, type, target | literal, confidence, evidence}]       source, target: keys
--   evidence  [{session_id? | memory_id?, at}]                               conversations and memories that say so,
--            and when it was said
-- Through save_entities and write_edges: a known name makes no second entity, a new conversation restores, the same one
-- counts, a memory counts once. One row an item: kind, its place in the plan from 1, id, whether it is new; or the
-- guard that refused it: short, gone, end (an end was refused), loop (both ends are one entity). In the caller's
-- transaction. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023,
-- 23503, 40001.
create or replace function loci_api.apply_extraction(p_namespace text, p_plan jsonb)
returns table (kind text, place integer, id uuid, created boolean, guard text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_at    timestamptz := clock_timestamp();
    v_known record := loci_internal.lock_evidence(v_ns, array(  -- what is in force now is so until the end
        select (m.id #>> '{}')::uuid from jsonb_path_query(p_plan, '$.*[*].evidence[*].memory_id') m(id)));
    v_named jsonb := (select coalesce(jsonb_agg(to_jsonb(x) order by x.ordinal), '[]')
                      from loci_internal.resolve_extracted_entities(v_ns, coalesce(p_plan -> 'entities', '[]')) x);
    v_saved jsonb;
    v_ids   jsonb;  -- ids by key
    v_edges jsonb;
begin
    v_saved := loci_internal.save_extracted_entities(v_ns, v_named, v_at);
    select jsonb_object_agg(n.key, coalesce(v_saved -> n.ordinal::text ->> 'id', n.id)) into v_ids
    from jsonb_to_recordset(v_named) n(ordinal integer, key integer, id text, guard text) where n.guard is null;
    select coalesce(jsonb_agg(to_jsonb(e) order by e.place), '[]') into v_edges
    from loci_internal.resolve_extracted_edges(v_ns, coalesce(p_plan -> 'edges', '[]'), v_ids) e;
    return query
    select 'entity', n.ordinal, coalesce((v_saved -> n.ordinal::text ->> 'id')::uuid, n.id),
           coalesce((v_saved -> n.ordinal::text ->> 'created')::boolean, false), n.guard
    from jsonb_to_recordset(v_named) n(ordinal integer, id uuid, guard text, evidence jsonb) where n.evidence <> '[]'
        or n.guard is not null
    order by n.ordinal;
    return query
    select 'edge', w.place, w.id, w.created, null from loci_internal.write_extracted_edges(v_ns, v_edges, v_at) w;
    return query
    select 'edge', e.place, null::uuid, false, e.guard
    from jsonb_to_recordset(v_edges) e(place integer, guard text) where e.guard is not null order by e.place;
end $$;
comment on function loci_api.apply_extraction(text, jsonb) is
    'Write entities and edges that a model has read out of conversations and memories; one row an item, with the '
    'guard that refused it. Errors: 42501, P0002, 22023, 23503, 40001.';

-- Save the entities of an extraction that no guard refuses, once for each evidence. p_named: rows of
-- resolve_extracted_entities. Returns {ordinal: {id, created}}; null: there are none.
create or replace function loci_internal.save_extracted_entities(p_namespace_id integer, p_named jsonb,
                                                                 p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
    v_items jsonb;
begin
    select jsonb_agg(jsonb_build_object('place', n.ordinal, 'name', n.name, 'session_id', v.session_id,
                                        'memory_id', v.memory_id, 'seen_at', v.at) || n.stated
                     order by n.ordinal, v.at, v.session_id, v.memory_id) into v_items
    from jsonb_to_recordset(p_named) n(ordinal integer, name text, stated jsonb, evidence jsonb, guard text)
    cross join lateral jsonb_to_recordset(n.evidence) v(session_id text, memory_id uuid, at timestamptz)
    where n.guard is null;
    return (select jsonb_object_agg(i.place, i.saved)
            from (select v_items -> (s.ordinal - 1) ->> 'place' as place,
                         jsonb_build_object('id', (array_agg(s.id))[1], 'created', bool_or(s.created)) as saved
                  from loci_internal.save_entities(p_namespace_id, coalesce(v_items, '[]'), p_at) s group by 1) i);
end $$;
comment on function loci_internal.save_extracted_entities(integer, jsonb, timestamptz) is
    'Save the entities of an extraction; ids by their place in it.';

-- What do the edges of an extraction mean here, and which may be written? One row an item, place from 1. p_ids: ids of
-- entities by key. guard: end (an end was refused), gone (no evidence is in force), loop (both ends are one entity).
create or replace function loci_internal.resolve_extracted_edges(p_namespace_id integer, p_edges jsonb, p_ids jsonb)
returns table (place integer, source text, type text, target text, literal text, confidence jsonb, evidence jsonb,
               guard text)
language sql stable set search_path = ''
as $$
    select e.place, e.source, e.type, e.target, e.literal, e.confidence, e.evidence,
           case when e.source is null or e.named and e.target is null then 'end'
                when e.source = e.target then 'loop'
                when e.evidence = '[]' then 'gone' end
    from (select o.place::integer as place, p_ids ->> (o.edge ->> 'source') as source, o.edge ->> 'type' as type,
                 p_ids ->> (o.edge ->> 'target') as target, o.edge ->> 'literal' as literal,
                 (o.edge ->> 'target') is not null as named, o.edge -> 'confidence' as confidence,
                 loci_internal.evidence_in_force(p_namespace_id, o.edge -> 'evidence') as evidence
          from jsonb_array_elements(p_edges) with ordinality o(edge, place)) e
$$;
comment on function loci_internal.resolve_extracted_edges(integer, jsonb, jsonb) is
    'Edges that an extraction means, and the guard that refuses each.';

-- Write the edges of an extraction that no guard refuses, once for each evidence. p_edges: rows of
-- resolve_extracted_edges. One row an edge, in order of place.
create or replace function loci_internal.write_extracted_edges(p_namespace_id integer, p_edges jsonb, p_at timestamptz)
returns table (place integer, id uuid, created boolean)
language plpgsql volatile set search_path = ''
as $$
declare
    v_items jsonb;
begin
    select coalesce(jsonb_agg(jsonb_build_object(
               'place', e.place, 'source', e.source, 'type', e.type, 'target', e.target, 'literal', e.literal,
               'confidence', e.confidence, 'session_id', v.session_id, 'memory_id', v.memory_id, 'observed_at', v.at)
               order by e.place, v.at, v.session_id, v.memory_id), '[]') into v_items
    from jsonb_to_recordset(p_edges) e(place integer, source text, type text, target text, literal text,
                                       confidence double precision, evidence jsonb, guard text)
    cross join lateral jsonb_to_recordset(e.evidence) v(session_id text, memory_id uuid, at timestamptz)
    where e.guard is null;
    return query
    select (v_items -> (w.ordinal - 1) ->> 'place')::integer, (array_agg(w.id))[1], bool_or(w.created)
    from loci_internal.write_edges(p_namespace_id, loci_internal.parse_edges(v_items, p_at), p_at) w
    group by 1 order by 1;
end $$;
comment on function loci_internal.write_extracted_edges(integer, jsonb, timestamptz) is
    'Write the edges of an extraction; one row an edge.';

-- Evidence [{session_id | memory_id, at}] of something that a model read a moment ago, without memories that were
-- forgotten, ended or erased since. Primary key of memories.
create or replace function loci_internal.evidence_in_force(p_namespace_id integer, p_evidence jsonb) returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_agg(v.item order by v.place), '[]')
    from jsonb_array_elements(p_evidence) with ordinality v(item, place)
    where v.item ->> 'memory_id' is null
       or (select m.status = 'active' and m.superseded_at is null from loci_data.memories m
           where m.namespace_id = p_namespace_id and m.id = (v.item ->> 'memory_id')::uuid limit 1)
$$;
comment on function loci_internal.evidence_in_force(integer, jsonb) is
    'Evidence without memories that are no longer in force.';

-- What do the entities of an extraction mean here, and which may be written? One row an item, ordinal from 1. By id:
-- the entity, or the one that it was merged into; one that was removed is refused (gone). By name: the one that has it
-- as name or alias; a new name shorter than the setting extracted_length is refused (short). name: as it is
-- called here. Evidence whose memory is no longer in force is none, and an item that loses all of it so is refused
-- (gone). A description is kept for an entity that has none yet: no model talks over what stands.
create or replace function loci_internal.resolve_extracted_entities(p_namespace_id integer, p_entities jsonb)
returns table (ordinal integer, key integer, id uuid, name text, stated jsonb, evidence jsonb, guard text)
language sql stable set search_path = ''
as $$
    with item as (
        select i.ordinal::integer as ordinal, (i.item ->> 'key')::integer as key, i.item,
               case when i.item ->> 'id' is not null then loci_internal.surviving_entity_id(p_namespace_id,
                   (i.item ->> 'id')::uuid)
                    else loci_internal.find_entity_id(p_namespace_id, i.item ->> 'name') end as id,
               loci_internal.evidence_in_force(p_namespace_id, i.item -> 'evidence') as evidence
        from jsonb_array_elements(p_entities) with ordinality i(item, ordinal)
    )
    select i.ordinal, i.key, e.id, coalesce(e.name, i.item ->> 'name'),
           jsonb_strip_nulls(jsonb_build_object('type', i.item -> 'type', 'aliases', i.item -> 'aliases',
               'description', case when e.description is null then i.item -> 'description' end)),
           i.evidence,
           case when i.item ->> 'id' is not null and e.id is null then 'gone'
                when i.evidence = '[]' and i.item -> 'evidence' <> '[]' then 'gone'
                when e.id is null
                and length(i.item ->> 'name') < (loci_internal.settings(p_namespace_id)
                                                 ->> 'extracted_length')::integer then 'short' end
    from item i
    left join lateral (select x.id, x.name, x.description from loci_data.entities x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.merged_into is null limit 1) e
                           on true
$$;
comment on function loci_internal.resolve_extracted_entities(integer, jsonb) is
    'Entities that an extraction means, and the guard that refuses each.';

-- Which episodes (memories of layer 3) does the extraction of entities learn from? The newest current ones that it has
-- not read, at most p_limit. They count as read when the pass has its report (record_pass). Those that an answer failed
-- for come after all others, half as many each time, as turns do; p_failed: only those that failed as often, as do the
-- turns beside them. content: the first p_length characters, with its subject in front (text_with_subject). Unlike a
-- mark by time, this misses no memory that was recorded before a look and committed after it. Reads the namespace's
-- memories from the newest back, index episodes_read_pkey for each. Security definer; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit), 55000.
create or replace function loci_api.episodes_to_read(p_namespace text, p_id uuid, p_limit integer,
                                                     p_length integer default 4000, p_failed smallint default null)
returns table (id uuid, content text, valid_from timestamptz, session_id text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_failed smallint;
    v_read   uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    perform loci_api.lock_job(p_namespace, p_id);
    for v_failed in
        select 0 where coalesce(p_failed, 0) = 0
        union all
        (select r.failed_reads from loci_data.episodes_read r
         where r.namespace_id = v_ns and r.job_id is null and r.failed_reads = coalesce(p_failed, r.failed_reads)
         group by r.failed_reads order by r.failed_reads)
    loop
        v_read := array(
            select m.id from loci_data.memories m
            left join loci_data.episodes_read r on r.namespace_id = v_ns and r.memory_id = m.id
            where m.namespace_id = v_ns and m.layer = 3 and m.status = 'active' and m.superseded_at is null
              and (m.valid_to is null or m.valid_to > clock_timestamp())
              and r.job_id is null and coalesce(r.failed_reads, 0) = v_failed
            order by m.id desc limit least(p_limit, loci_internal.texts_to_show(v_ns, v_failed)));
        exit when v_read <> '{}';
    end loop;
    return query
    select m.id, left(loci_internal.text_with_subject(m.content, m.about), p_length), m.valid_from, m.session_id
    from loci_data.memories m where m.namespace_id = v_ns and m.id = any (v_read) order by m.id;
end $$;
comment on function loci_api.episodes_to_read(text, uuid, integer, integer, smallint) is
    'Memories of layer 3 that no extraction of entities has read, the newest first. Errors: 42501, P0002, 22023, '
    '55000.';

-- Which turns of the conversation log does a pass learn from? The oldest ones that it has not read, at most
-- dream_limit. They count as read when the pass has its report (record_pass), and not before: whatever ends it
-- meanwhile, they are there the next time. Those that an answer failed for come after all others, and each time half as
-- many of them (failed_reads), so that the one that no model can read is alone in the end. more: the log holds others
-- for this pass. Index conversation_turns_log. Security definer; checks the caller itself. Errors: 42501, P0002, 55000.
create or replace function loci_api.turns_to_read(p_namespace text, p_id uuid, p_pass text)
returns table (id bigint, session_id text, role text, content text, said_at timestamptz, failed_reads smallint,
               more boolean)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_failed smallint;
    v_waits  bigint;
    v_limit  integer;
begin
    perform loci_api.lock_job(p_namespace, p_id);
    select min(t.failed_reads), count(*) into v_failed, v_waits from loci_data.conversation_turns t
    where t.namespace_id = v_ns and t.logged and p_pass <> all (t.read_by);
    v_limit := loci_internal.texts_to_show(v_ns, v_failed);
    return query
    select t.id, t.session_id, t.role, t.content, t.said_at, t.failed_reads, count(*) over () < v_waits
    from (select o.* from loci_data.conversation_turns o
          where o.namespace_id = v_ns and o.logged and p_pass <> all (o.read_by) and o.failed_reads = v_failed
          order by o.id limit v_limit) t
    order by t.id;
end $$;
comment on function loci_api.turns_to_read(text, uuid, text) is
    'Turns of the conversation log that a pass has not read, the oldest first. Errors: 42501, P0002, 55000.';

-- How many texts is a model shown at a time, whose answer has failed for them so often? dream_limit, at most 10,000,
-- halved each time; one at least.
create or replace function loci_internal.texts_to_show(p_namespace_id integer, p_failed smallint) returns integer
language sql stable set search_path = ''
as $$
    select greatest(1, least((loci_internal.settings(p_namespace_id) ->> 'dream_limit')::double precision,
                             10000)::integer >> coalesce(p_failed, 0::smallint)::integer)
$$;
comment on function loci_internal.texts_to_show(integer, smallint) is
    'How many texts a model is shown at a time.';
