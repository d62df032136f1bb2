-- Keep those who work through what was written and those who erase apart in a namespace. 'changes': what has no
-- position in the feed yet must not move past an erasure, and the sequencer locks rows in another order than a
-- namespace's cascades do. 'worker': what the worker has claimed it holds in its memory, with the words of the turns
-- around it. Alone waits for the batches under way and holds off new ones; shared never waits, and says whether it may.
-- Held to the end of the transaction.
create or replace function loci_internal.lock_background_work(p_namespace_id integer, p_work text, p_alone boolean)
returns boolean
language plpgsql volatile set search_path = ''
as $$
declare
    v_key bigint := hashtextextended('loci.' || p_work, p_namespace_id);
begin
    if p_alone then
        perform pg_advisory_xact_lock(v_key);
        return true;
    end if;
    return pg_try_advisory_xact_lock_shared(v_key);
end $$;
comment on function loci_internal.lock_background_work(integer, text, boolean) is
    'Lock the feed (changes) or the background work (worker) of a namespace for this transaction: alone (waits) or '
    'shared (tries).';
