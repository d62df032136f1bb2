-- Keep the worker and an erasure apart in a namespace: what the worker has claimed it holds in its memory, with the words of the turns
-- around it. Alone waits for the batches under way and holds off new ones; shared never waits, and says whether it may.
-- Held to the end of the transaction. Called by erase_memories, and by claim_embeddings, claim_entities and claim_names. Internal.
create or replace function loci.lock_worker(p_namespace_id integer, p_alone boolean) returns boolean
language plpgsql volatile set search_path = ''
as $$
declare
    v_key bigint := hashtextextended('loci.worker', p_namespace_id);
begin
    if p_alone then
        perform pg_advisory_xact_lock(v_key);
        return true;
    end if;
    return pg_try_advisory_xact_lock_shared(v_key);
end $$;
comment on function loci.lock_worker(integer, boolean) is 'Lock the background work of a namespace for this transaction: alone (waits) or shared (tries). Internal.';
