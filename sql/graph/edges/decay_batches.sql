-- Batches of a change of decay.

-- The next edges of a change of decay: at most p_limit of them are looked at, those whose moment moves are written, and
-- the change notes how far it is. One call is one transaction of the caller; call it again until done. A process that
-- dies leaves the change unfinished, readers reckon for themselves meanwhile, and whoever calls next goes on: the
-- worker does. Before the first edge, those are waited for who may still write by rates that were read before the
-- change (lock_decay_rates); nobody else waits for them. Two callers of one change take turns. The counts are those of
-- the
-- whole change until now: edges whose moment moved over its start faded or came back; where it was asked for on demand,
-- those faded too whose moment came since the last time (counted_from). faded_now: all that have. done without a
-- change: there is nothing to do. Cost: a range of edges_type (or of the primary key), and a new row version
-- and six index entries an edge that moves. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit).
create or replace function loci_api.recalculate_decay_batch(p_namespace text, p_type text default null,
                                                            p_limit integer default 2000)
returns table (edges bigint, faded bigint, revived bigint, faded_now bigint, done boolean)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_type         text := coalesce(loci.canonical_type(p_type), '');
    v_change       loci_data.decay_changes;
    v_ids          uuid[];
    v_counts       record;
begin
    perform loci_internal.check_limit(p_limit, 100000);
    perform loci_internal.await_edge_writers(v_namespace_id, v_type);
    select * into v_change from loci_data.decay_changes c where c.namespace_id = v_namespace_id and c.type = v_type
        for update;
    if v_change.finished_at is null and v_change.since_version is null and v_change.started_at is not null then
        v_ids := array(
            select e.id from loci_data.edges e
            where v_type = '' and e.namespace_id = v_namespace_id and e.id >
                coalesce(v_change.after_id, loci_internal.nil_uuid())
            order by e.id limit p_limit);
        v_ids := v_ids || array(
            select e.id from loci_data.edges e
            -- a row: no index but edges_type has this order
            where v_type <> '' and e.namespace_id = v_namespace_id and e.type <= v_type
              and (e.type, e.id) > (v_type, coalesce(v_change.after_id, loci_internal.nil_uuid()))
            order by e.type, e.id limit p_limit);
        v_counts := loci_internal.update_fades_at(v_namespace_id, v_ids, v_change.started_at, v_change.counted_from);
        update loci_data.decay_changes c
        set after_id = coalesce(v_ids[cardinality(v_ids)], c.after_id), edges = c.edges + cardinality(v_ids),
            faded = c.faded + v_counts.faded, revived = c.revived + v_counts.revived,
            faded_now = c.faded_now + v_counts.faded_now, worked_at = clock_timestamp(),
            finished_at = case when cardinality(v_ids) < p_limit then clock_timestamp() end
        where c.namespace_id = v_namespace_id and c.type = v_type
        returning c.* into v_change;
    end if;
    return query select coalesce(v_change.edges, 0), coalesce(v_change.faded, 0), coalesce(v_change.revived, 0),
                        coalesce(v_change.faded_now, 0),
                        v_change.started_at is null or v_change.finished_at is not null;
end $$;
comment on function loci_api.recalculate_decay_batch(text, text, integer) is
    'Bring the next edges in step with a change of decay, of a type (null: of all): edges looked at, faded and come '
    'back so far, faded now, and whether it is done. Errors: 42501, P0002, 22023.';

-- Before a change of decay moves edges: wait for the writers that may have read the rates before it. A worker of an
-- older version holds the lock; getting the lock shows that it is gone, and later ones have read the rates in force
-- (lock_decay_rates). The change's row is not locked meanwhile, so that another change can begin; only what was waited
-- for is noted.
create or replace function loci_internal.await_edge_writers(p_namespace_id integer, p_type text) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_since   integer;
    v_current integer;
begin
    loop
        select c.since_version, n.rates_version into v_since, v_current
        from loci_data.decay_changes c join loci_data.namespaces n on n.id = c.namespace_id
        where c.namespace_id = p_namespace_id and c.type = p_type and c.finished_at is null;
        exit when not found or v_since is null;
        for v_version in v_since .. v_current - 1 loop
            perform loci_internal.lock_alone(p_namespace_id, format('rates %s', v_version));
            delete from loci_data.namespace_locks l
            where l.namespace_id = p_namespace_id and l.name = format('rates %s', v_version);
        end loop;
        update loci_data.decay_changes c set since_version = null
        from loci_data.namespaces n
        where c.namespace_id = p_namespace_id and c.type = p_type and n.id = p_namespace_id
          and n.rates_version = v_current;
        exit when found;
    end loop;
end $$;
comment on function loci_internal.await_edge_writers(integer, text) is
    'Wait for writers of edges that go by rates from before a change.';

-- Bring fades_at of these edges in step with the rates and the threshold in force. Counts those believed now: faded, of
-- which the moment was after p_from and is not after p_at; revived, of which it was not after p_at and is; faded_now.
-- Edges that were taken back move too: known_at still reads them. Locked in order of id, like everywhere; only those
-- that move. Beliefs and their times are not touched, so updated_at stays.
create or replace function loci_internal.update_fades_at(
    p_namespace_id integer, p_ids uuid[], p_at timestamptz, p_from timestamptz, out faded bigint, out revived bigint,
    out faded_now bigint)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    with looked_at as materialized (
        select e.id, e.superseded_at is null as believed, e.fades_at as was, f.fades_at
        from loci_data.edges e
        cross join lateral (
            select loci.fades_at(e.confidence, coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate),
                                 e.restored_at, v_rates.threshold) as fades_at) f
        where e.namespace_id = p_namespace_id and e.id = any(p_ids)
    ), changed as materialized (
        select e.id, loci.fades_at(e.confidence, coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate),
                                   e.restored_at, v_rates.threshold) as fades_at
        from loci_data.edges e
        where e.namespace_id = p_namespace_id
          and e.id = any(array(select x.id from looked_at x where x.was <> x.fades_at))
        order by e.id
        for no key update of e
    ), moved as (
        update loci_data.edges e set fades_at = c.fades_at
        from changed c where e.namespace_id = p_namespace_id and e.id = any(array(select x.id from changed x))
            and e.id = c.id
    )
    select count(*) filter (where l.was > p_from and l.fades_at <= p_at),
           count(*) filter (where l.was <= p_at and l.fades_at > p_at), count(*) filter (where l.fades_at <= p_at)
    into faded, revived, faded_now
    from looked_at l where l.believed;
end $$;
comment on function loci_internal.update_fades_at(integer, uuid[], timestamptz, timestamptz) is
    'Recalculate fades_at of edges; how many faded since a moment, how many came back, and how many are faded.';
