-- Before a change of decay moves edges: wait for the writers that may have read the rates before it. Whoever holds the lock of an older
-- version does; a lock that is got says that they are gone, and who comes later has read what is in force (hold_rates).
-- The change's row is not locked meanwhile, so that another change can begin; only what was waited for is noted.
-- Called by fade_batch; internal.
create or replace function loci.await_writers(p_namespace_id integer, p_type text) returns void
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
            perform pg_advisory_xact_lock(loci.rates_lock(p_namespace_id, v_version));
        end loop;
        update loci_data.decay_changes c set since_version = null
        from loci_data.namespaces n
        where c.namespace_id = p_namespace_id and c.type = p_type and n.id = p_namespace_id and n.rates_version = v_current;
        exit when found;
    end loop;
end $$;
comment on function loci.await_writers(integer, text) is 'Wait for writers of edges that go by rates from before a change. Internal.';
