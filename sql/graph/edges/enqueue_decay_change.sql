-- A change of decay begins: note it where readers and the batches look. The version of the rates grows, so that who
-- writes from now on is told apart from those who read the rates before (lock_decay_rates). In the transaction of the
-- change
-- itself, of which nothing is seen before it commits. Two changes at once take turns at the row of the namespace.
-- p_type null: all types. p_recalculates: it was asked for on demand, and counts what faded since the last time.
create or replace function loci_internal.enqueue_decay_change(p_namespace_id integer, p_type text,
                                                              p_recalculates boolean default false) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_since integer;
begin
    update loci_data.namespaces n set rates_version = n.rates_version + 1 where n.id = p_namespace_id
    returning n.rates_version - 1 into v_since;
    insert into loci_data.decay_changes as c (namespace_id, type, since_version, started_at, worked_at, counted_from,
                                              recalculated_at)
    values (p_namespace_id, coalesce(p_type, ''), v_since, v_at, v_at,
            case when p_recalculates then '-infinity' else v_at end, case when p_recalculates then v_at end)
    on conflict (namespace_id, type) do update
    set since_version = least(c.since_version, excluded.since_version),
        started_at = greatest(c.started_at, excluded.started_at), after_id = null,
        counted_from = case when p_recalculates then coalesce(c.recalculated_at, '-infinity') else
            greatest(c.started_at, excluded.started_at) end,
        recalculated_at = coalesce(excluded.recalculated_at, c.recalculated_at),
        edges = 0, faded = 0, revived = 0, faded_now = 0, worked_at = excluded.worked_at, finished_at = null;
end $$;
comment on function loci_internal.enqueue_decay_change(integer, text, boolean) is
    'Note that edges of a type (null: of all) must be brought in step with their decay.';
