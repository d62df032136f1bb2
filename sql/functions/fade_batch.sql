-- The next edges of a change of decay (row G10): at most p_limit of them are looked at, those whose moment moves are written, and the
-- change notes how far it is. One call is one transaction of the caller; call it again until done. A process that dies leaves the
-- change unfinished, readers reckon for themselves meanwhile, and whoever calls next goes on: the worker does.
-- Before the first edge, those are waited for who may still write by rates that were read before the change (hold_rates); nobody else
-- waits for them. Two callers of one change take turns. The counts are those of the whole change until now: edges whose moment
-- moved from after its start to before it faded, the others came back. done without a change: there is nothing to do.
-- Cost: a range of edges_type (or of the primary key), and a new row version and six index entries an edge that moves.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.fade_batch(p_namespace text, p_type text default null, p_limit integer default 2000)
returns table (edges bigint, faded bigint, revived bigint, done boolean)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
    v_type         text := coalesce(btrim(p_type), '');
    v_change       loci_data.decay_changes;
    v_ids          uuid[];
    v_counts       record;
begin
    perform loci.check_limit(p_limit, 100000);
    perform loci.await_writers(v_namespace_id, v_type);
    select * into v_change from loci_data.decay_changes c where c.namespace_id = v_namespace_id and c.type = v_type for update;
    if v_change.finished_at is null and v_change.since_version is null and v_change.started_at is not null then
        v_ids := array(
            select e.id from loci_data.edges e
            where v_type = '' and e.namespace_id = v_namespace_id and e.id > coalesce(v_change.after_id, loci.nil_uuid())
            order by e.id limit p_limit);
        v_ids := v_ids || array(
            select e.id from loci_data.edges e
            where v_type <> '' and e.namespace_id = v_namespace_id and e.type <= v_type  -- a row: no index but edges_type has this order
              and (e.type, e.id) > (v_type, coalesce(v_change.after_id, loci.nil_uuid()))
            order by e.type, e.id limit p_limit);
        v_counts := loci.move_fading(v_namespace_id, v_ids, v_change.started_at);
        update loci_data.decay_changes c
        set after_id = coalesce(v_ids[cardinality(v_ids)], c.after_id), edges = c.edges + cardinality(v_ids),
            faded = c.faded + v_counts.faded, revived = c.revived + v_counts.revived, worked_at = clock_timestamp(),
            finished_at = case when cardinality(v_ids) < p_limit then clock_timestamp() end
        where c.namespace_id = v_namespace_id and c.type = v_type
        returning c.* into v_change;
    end if;
    return query select coalesce(v_change.edges, 0), coalesce(v_change.faded, 0), coalesce(v_change.revived, 0),
                        v_change.started_at is null or v_change.finished_at is not null;
end $$;
comment on function loci.fade_batch(text, text, integer) is 'Bring the next edges in step with a change of decay, of a type (null: of all): edges looked at, faded and come back so far, and whether it is done. Errors: 42501, P0002, 22023.';
