-- Merges, splits and their undoing take turns in a namespace: each of them moves edges whose other ends another could be moving.
-- Held to the end of the transaction. Called by merge_entities, split_entity, undo_merge and merge_duplicates; internal.
create or replace function loci.lock_merges(p_namespace_id integer) returns void
language sql volatile set search_path = ''
as $$
    select pg_advisory_xact_lock(hashtextextended('loci.merges', p_namespace_id))
$$;
comment on function loci.lock_merges(integer) is 'Wait for other merges of a namespace, to the end of the transaction. Internal.';
