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
    v_most constant integer := 100000;
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
        select 'memories' as name, a.memories as waits,
               (select count(*) from (select from loci_data.embedding_queue e where e.model_id = v_active.id
                                      and e.error is not null limit v_most) q) as refuses
        from loci_internal.count_waiting_vectors(v_active.id, v_most) a
        union all
        select 'entities', a.entities,
               (select count(*) from (select from loci_data.entity_queue e where e.model_id = v_active.id
                                      and e.error is not null limit v_most) q)
        from loci_internal.count_waiting_vectors(v_active.id, v_most) a
        union all
        select 'reembedding', least(f.memories + f.entities, v_most),
               (select count(*) from (select from loci_data.embedding_queue e where e.model_id = v_filling.id
                                      and e.error is not null
                                      union all select from loci_data.entity_queue e where e.model_id = v_filling.id
                                          and e.error is not null limit v_most) q)
        from loci_internal.count_waiting_vectors(v_filling.id, v_most) f
        union all
        select 'second', s.memories,
               (select count(*) from (select from loci_data.embedding_queue e where e.model_id = v_second.id
                                      and e.error is not null limit v_most) q)
        from loci_internal.count_waiting_vectors(v_second.id, v_most) s
        union all
        select 'names', count(*), 0 from (select from loci_data.name_queue limit v_most) q
        union all
        select 'changes', count(*), 0 from (select from loci_data.outbox limit v_most) q
    ), first as (
        select 'memories' as name, min(q.enqueued_at) as at
        from loci_internal.waiting_namespaces('embedding_queue', v_active.id) w(id) cross join lateral (
            select e.enqueued_at from loci_data.embedding_queue e where e.model_id = v_active.id
                and e.namespace_id = w.id and e.error is null order by e.enqueued_at limit 1) q
        union all
        select 'entities', min(q.enqueued_at) from loci_internal.waiting_namespaces('entity_queue', v_active.id) w(id)
        cross join lateral (
            select e.enqueued_at from loci_data.entity_queue e where e.model_id = v_active.id and e.namespace_id = w.id
                and e.error is null order by e.enqueued_at limit 1) q
        union all
        select 'reembedding', v_filling.created_at
        union all
        select 'second', min(q.enqueued_at)
        from loci_internal.waiting_namespaces('embedding_queue', v_second.id) w(id) cross join lateral (
            select e.enqueued_at from loci_data.embedding_queue e where e.model_id = v_second.id
                and e.namespace_id = w.id and e.error is null order by e.enqueued_at limit 1) q
        union all
        select 'names', min(q.enqueued_at) from loci_internal.waiting_namespaces('name_queue') w(id)
        cross join lateral (
            select e.enqueued_at from loci_data.name_queue e where e.namespace_id = w.id
            order by e.enqueued_at limit 1) q
        union all
        select 'changes', (select o.changed_at from loci_data.outbox o order by o.id limit 1)
    )
    select c.name, c.waits, c.refuses, f.at, service_metrics.invalid_indexes, service_metrics.connections,
           service_metrics.connections_max
    from counted c join first f on f.name = c.name order by c.name;
end $$;
comment on function loci_api.service_metrics() is
    'What a monitor asks of the database: a row for each queue (memories, entities, second, reembedding, names, '
    'changes) with what waits, at most 100,000, and since when; beside it invalid indexes, connections in use and at '
    'most. Operator only.';
