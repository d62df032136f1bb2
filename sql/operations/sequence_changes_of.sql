-- Give all that is committed in these namespaces its position in the feed (sequence_changes), batch after batch, so
-- that a reader finds its own writes. A namespace in which something is being erased, or swept, is waited for, by this
-- reader alone: first nothing is held, then only what is free by now, and no sequencer waits. A caller that asks for
-- {*} goes on without those that stay locked as long as a statement waits for a lock, once: one namespace does not hold
-- up the others. Whatever else is committed is moved too, for ten seconds at most; more than that waits where no
-- sequencer ran, and is the next call's. p_namespaces as list_changes has it. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002, 22023 (namespaces), 55P03.
create or replace function loci_api.sequence_changes_of(p_namespaces text[] default null) returns void
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_all     boolean := p_namespaces is not distinct from '{*}';
    v_ids     integer[] := loci_internal.feed_namespaces(p_namespaces);
    v_id      integer;
    v_last    bigint;
    v_patient boolean := true;
    v_free    boolean;
begin
    select array_agg(distinct o.namespace_id), max(o.id) into v_ids, v_last
    from loci_data.outbox o where o.namespace_id = any (v_ids);
    foreach v_id in array coalesce(v_ids, '{}') loop
        begin
            v_free := loci_internal.lock_background_work(v_id, 'changes', v_patient);
            raise exception using errcode = 'LOCI0', message = 'free, and let go';
        exception
            when sqlstate 'LOCI0' then
                null;
            when lock_not_available then
                if not v_all then
                    raise;
                end if;
                v_patient := false;
                v_free := false;
        end;
        if not v_free then
            v_ids := array_remove(v_ids, v_id);
        end if;
    end loop;
    begin
        perform from loci_data.feeds f where f.namespace_id = any (v_ids) order by f.namespace_id for update;
    exception when lock_not_available then
        if not v_all then
            raise;
        end if;
    end;
    while exists (select from loci_data.outbox o where o.namespace_id = any (v_ids) and o.id <= v_last) loop
        exit when (select s.moved from loci_api.sequence_changes() s) = 0
            or clock_timestamp() > statement_timestamp() + interval '10 seconds';
    end loop;
end $$;
comment on function loci_api.sequence_changes_of(text[]) is
    'Give all committed changes of these namespaces their positions in the feed, and wait for an erasure there. '
    'Errors: 42501, P0002, 22023, 55P03.';
