-- Metrics and statistics of the service.

-- Count what waits in each queue, and the texts that the model refused, up to p_most. Models are given by number: the
-- active one, the one that is being filled, the second one; null for none.
create or replace function loci_internal.count_queues(p_active smallint, p_filling smallint, p_second smallint,
                                                      p_most integer)
returns table (name text, waits bigint, refuses bigint)
language sql stable set search_path = ''
as $$
    select 'memories' as name, a.memories as waits,
           (select count(*) from (select from loci_data.embedding_queue e where e.model_id = p_active
                                  and e.error is not null limit p_most) q) as refuses
    from loci_internal.count_waiting_vectors(p_active, p_most) a
    union all
    select 'entities', a.entities,
           (select count(*) from (select from loci_data.entity_queue e where e.model_id = p_active
                                  and e.error is not null limit p_most) q)
    from loci_internal.count_waiting_vectors(p_active, p_most) a
    union all
    select 'reembedding', least(f.memories + f.entities, p_most),
           (select count(*) from (select from loci_data.embedding_queue e where e.model_id = p_filling
                                  and e.error is not null
                                  union all select from loci_data.entity_queue e where e.model_id = p_filling
                                      and e.error is not null limit p_most) q)
    from loci_internal.count_waiting_vectors(p_filling, p_most) f
    union all
    select 'second', s.memories,
           (select count(*) from (select from loci_data.embedding_queue e where e.model_id = p_second
                                  and e.error is not null limit p_most) q)
    from loci_internal.count_waiting_vectors(p_second, p_most) s
    union all
    select 'names', count(*), 0 from (select from loci_data.name_queue limit p_most) q
    union all
    select 'changes', count(*), 0 from (select from loci_data.outbox limit p_most) q
$$;
comment on function loci_internal.count_queues(smallint, smallint, smallint, integer) is
    'How much waits in each queue, and how much was refused.';

-- Find since when the first row of each queue has waited. Index look-ups, one a namespace that waits.
create or replace function loci_internal.oldest_in_queues(p_active smallint, p_second smallint)
returns table (name text, at timestamptz)
language sql stable set search_path = ''
as $$
    select 'memories' as name, min(q.enqueued_at) as at
    from loci_internal.waiting_namespaces('embedding_queue', p_active) w(id) cross join lateral (
        select e.enqueued_at from loci_data.embedding_queue e where e.model_id = p_active
            and e.namespace_id = w.id and e.error is null order by e.enqueued_at limit 1) q
    union all
    select 'entities', min(q.enqueued_at) from loci_internal.waiting_namespaces('entity_queue', p_active) w(id)
    cross join lateral (
        select e.enqueued_at from loci_data.entity_queue e where e.model_id = p_active and e.namespace_id = w.id
            and e.error is null order by e.enqueued_at limit 1) q
    union all
    select 'second', min(q.enqueued_at)
    from loci_internal.waiting_namespaces('embedding_queue', p_second) w(id) cross join lateral (
        select e.enqueued_at from loci_data.embedding_queue e where e.model_id = p_second
            and e.namespace_id = w.id and e.error is null order by e.enqueued_at limit 1) q
    union all
    select 'names', min(q.enqueued_at) from loci_internal.waiting_namespaces('name_queue') w(id)
    cross join lateral (
        select e.enqueued_at from loci_data.name_queue e where e.namespace_id = w.id
        order by e.enqueued_at limit 1) q
    union all
    select 'changes', (select o.changed_at from loci_data.outbox o order by o.id limit 1)
$$;
comment on function loci_internal.oldest_in_queues(smallint, smallint) is
    'Since when the first row of each queue has waited.';

-- How does the database stand, as a monitor asks? What waits in each queue and since when (memories and entities for
-- the active model, second for the second one, reembedding for the one that is being filled, since it began), texts
-- that were refused for good, invalid indexes, connections in use and how many the server takes. Counts stop at
-- 100,000, so the cost is bounded whatever the backlog: some milliseconds then, under one at rest (one index probe
-- for each namespace that waits). Security definer: reads all namespaces. Errors: 42501 unless the operator asks.
create or replace function loci_api.service_metrics()
returns table (queue text, waiting bigint, refused bigint, oldest timestamptz, invalid_indexes bigint,
               connections bigint, connections_max integer)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_active  loci_data.embedding_models;
    v_filling loci_data.embedding_models;
    v_second  loci_data.embedding_models;
begin
    perform loci_internal.require_operator('ask for the figures of the service');
    select count(*) into invalid_indexes from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
    -- but those of a model that does not serve yet
    where c.relnamespace = 'loci_data'::regnamespace and not (i.indisvalid and i.indisready)
      and not exists (select from loci_data.embedding_models m where not (m.active or m.second)
                      and c.relname ~ format('_hnsw_%s$', m.id));
    select sum(d.numbackends) into connections from pg_catalog.pg_stat_database d;
    connections_max := current_setting('max_connections')::integer;
    select * into v_active from loci_data.embedding_models m where m.active;
    select * into v_filling from loci_data.embedding_models m where m.filling;
    select * into v_second from loci_data.embedding_models m where m.second;
    return query
    with counted as (
        select * from loci_internal.count_queues(v_active.id, v_filling.id, v_second.id, 100000)
    ), first as (
        select * from loci_internal.oldest_in_queues(v_active.id, v_second.id)
        union all
        select 'reembedding', v_filling.created_at
    )
    select c.name, c.waits, c.refuses, f.at, service_metrics.invalid_indexes, service_metrics.connections,
           service_metrics.connections_max
    from counted c join first f on f.name = c.name order by c.name;
end $$;
comment on function loci_api.service_metrics() is
    'What a monitor asks of the database: a row for each queue (memories, entities, second, reembedding, names, '
    'changes) with what waits, at most 100,000, and since when; beside it invalid indexes, connections in use and at '
    'most. Operator only.';

-- What waits for the worker? Each working process asks this four times a second, instead of one look for each kind of
-- work: of the vectors those of the active model, of the feed what was written and has no position. A probe of an index
-- each (of vectors: of each namespace that waits). Security definer; the operator's.
create or replace function loci_api.waiting_work(out feed boolean, out names boolean, out vectors boolean)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    perform loci_internal.require_operator('look for work');
    feed := exists (select from loci_data.outbox o order by o.id);
    names := exists (select from loci_data.name_queue);
    vectors := exists (select from loci_internal.waiting_namespaces('embedding_queue', v_model))
        or exists (select from loci_internal.waiting_namespaces('entity_queue', v_model));
end $$;
comment on function loci_api.waiting_work() is
    'Whether changes wait for a place in the feed, memories for names, and either for vectors. Operator only.';

-- How many rows of each table has this transaction added, changed and deleted? As the server counts them
-- (pg_stat_xact), so triggers, cascades and tables to come are in; partitions count for their table; the record of
-- the change itself and locks are no part of it. The difference to an earlier answer: pass it in. Errors: 55000 where
-- the server does not count.
create or replace function loci_internal.transaction_row_counts(p_before jsonb default '{}') returns jsonb
language plpgsql volatile set search_path = ''
as $$
begin
    if current_setting('track_counts') = 'off' then
        raise object_not_in_prerequisite_state using message = 'a receipt needs the server to count rows',
            hint = 'Set track_counts = on.';
    end if;
    return (
        select jsonb_object_agg(d.kind, d.tables)
        from (select n.kind, coalesce(jsonb_object_agg(n.name, n.times) filter (where n.times <> 0), '{}') as tables
              from (select k.kind, r.relname as name,
                           sum(k.times) - coalesce((p_before -> k.kind ->> r.relname::text)::bigint, 0) as times
                    from pg_class c
                    join pg_class r on r.oid = coalesce(pg_partition_root(c.oid), c.oid)
                    cross join lateral (values ('added', pg_stat_get_xact_tuples_inserted(c.oid)),
                                               ('changed', pg_stat_get_xact_tuples_updated(c.oid)),
                                               ('deleted', pg_stat_get_xact_tuples_deleted(c.oid))) k(kind, times)
                    where c.relnamespace = 'loci_data'::regnamespace and c.relkind = 'r'
                      and c.relname not in ('operations', 'outbox', 'changes', 'turn_locks')
                    group by k.kind, r.relname) n
              group by n.kind) d);
end $$;
comment on function loci_internal.transaction_row_counts(jsonb) is
    'Rows added, changed and deleted by this transaction, by table, less an earlier answer.';

-- Statistics for tables that have rows and were never analyzed, or were when they were empty: until then a session that
-- made its plans while they were empty (those of foreign keys first of all) goes on with any index that begins with the
-- namespace, and reads all of it. Autovacuum comes within a minute, which is too late for the first import. Analyzing
-- makes every session plan anew. Returns the tables. One look at the catalogue where nothing is due. Security definer:
-- analyzes what it owns. Errors: 42501.
create or replace function loci_api.analyze_new_tables() returns setof text
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_table regclass;
begin
    perform loci_internal.require_operator('analyze tables');
    for v_table in
        select c.oid::regclass from pg_catalog.pg_class c
        where c.relnamespace = 'loci_data'::regnamespace and c.relkind = 'r'
          and (c.reltuples < 0 or c.reltuples = 0 and pg_catalog.pg_stat_get_live_tuples(c.oid)
               + pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) >= 100)
          and pg_catalog.pg_relation_size(c.oid) >= 10 * pg_catalog.current_setting('block_size')::bigint
        order by c.oid
    loop
        execute pg_catalog.format('analyze %s', v_table);
        return next v_table::text;
    end loop;
end $$;
comment on function loci_api.analyze_new_tables() is
    'Analyze tables that have rows, and no statistics or those of an empty table; which. Operator only. Errors: 42501.';

-- Where does this server stand in the log of the database, and in which timeline? A primary says where its log ends, a
-- standby how far it has replayed. Every promotion begins a timeline. A standby that was further than the one that was
-- promoted has log that is no longer everybody's, and keeps its place on the old timeline for good: its position says
-- nothing of what it lacks. So a standby's timeline is one that it is sure to follow: that of its last restart point,
-- or that which it receives (the new primary sends nothing to one whose log is not its own). Null where it has none.
-- Security definer: what a standby receives is told to members of pg_read_all_stats. No table, no index; for anybody
-- who may call the service's functions.
create or replace function loci_api.log_position(out standby boolean, out "position" pg_lsn, out timeline integer)
language plpgsql volatile security definer set search_path = ''
as $$
begin
    standby := pg_catalog.pg_is_in_recovery();
    if standby then
        "position" := pg_catalog.pg_last_wal_replay_lsn();
        timeline := greatest((select c.timeline_id from pg_catalog.pg_control_checkpoint() c),
                             (select w.received_tli from pg_catalog.pg_stat_get_wal_receiver() w
                              where w.status = 'streaming'));
    else
        "position" := pg_catalog.pg_current_wal_insert_lsn();
        timeline := ('x' || left(pg_catalog.pg_walfile_name("position"), 8))::bit(32)::integer;
    end if;
end $$;
comment on function loci_api.log_position() is
    'Whether this server is a standby, how far in the log it is, and the timeline that it follows.';
