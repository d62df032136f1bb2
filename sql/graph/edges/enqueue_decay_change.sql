-- A change of decay begins: note it where readers and the batches look. The version of the rates grows, so that who
-- writes from now on is told apart from those who read the rates before (lock_decay_rates). In the transaction of the
-- change
-- itself, of which nothing is seen before it commits. Two changes at once take turns at the row of the namespace.
-- p_type null: all types.
create or replace function loci_internal.enqueue_decay_change(p_namespace_id integer, p_type text) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_since integer;
begin
    update loci_data.namespaces n set rates_version = n.rates_version + 1 where n.id = p_namespace_id
    returning n.rates_version - 1 into v_since;
    insert into loci_data.decay_changes as c (namespace_id, type, since_version, started_at, worked_at)
    values (p_namespace_id, coalesce(p_type, ''), v_since, v_at, v_at)
    on conflict (namespace_id, type) do update
    set since_version = least(c.since_version, excluded.since_version),
        started_at = greatest(c.started_at, excluded.started_at), after_id = null,
        edges = 0, faded = 0, revived = 0, worked_at = excluded.worked_at, finished_at = null;
end $$;
comment on function loci_internal.enqueue_decay_change(integer, text) is
    'Note that edges of a type (null: of all) must be brought in step with their decay.';
