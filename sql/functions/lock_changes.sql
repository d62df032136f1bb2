-- Keep the sequencer and whoever erases apart in a namespace: what has no position yet must not move past an erasure, and the sequencer
-- locks rows in another order than a namespace's cascades do. Alone waits for the batch under way and holds off the next ones; shared
-- never waits, and says whether it may. Held to the end of the transaction. Called by sequence_changes, erase_changes and
-- delete_namespace. Internal.
create or replace function loci.lock_changes(p_namespace_id integer, p_alone boolean) returns boolean
language plpgsql volatile set search_path = ''
as $$
declare
    v_key bigint := hashtextextended('loci.changes', p_namespace_id);
begin
    if p_alone then
        perform pg_advisory_xact_lock(v_key);
        return true;
    end if;
    return pg_try_advisory_xact_lock_shared(v_key);
end $$;
comment on function loci.lock_changes(integer, boolean) is 'Lock what waits for the feed of a namespace, for this transaction: alone (waits) or shared (tries). Internal.';
