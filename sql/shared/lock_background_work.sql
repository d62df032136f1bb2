-- Keep those who work through what was written and those who erase apart in a namespace. 'changes': what has no
-- position in the feed yet must not move past an erasure, and the sequencer locks rows in another order than a
-- namespace's cascades do. 'worker': what the worker has claimed it holds in its memory, with the words of the turns
-- around it. Alone waits for the batches under way and holds off new ones; otherwise it never waits, and says whether
-- it may. Held to the end of the transaction. A sequencer is alone in the feed too: it locks and changes the row of
-- feeds.
create or replace function loci_internal.lock_background_work(p_namespace_id integer, p_work text, p_alone boolean)
returns boolean
language plpgsql volatile set search_path = ''
as $$
begin
    if p_work = 'worker' then
        return case when p_alone then loci_internal.lock_alone(p_namespace_id, p_work)
               else loci_internal.lock_shared(p_namespace_id, p_work, false) end;
    elsif p_alone then
        perform from loci_data.feeds f where f.namespace_id = p_namespace_id for update;
        return true;
    end if;
    perform from loci_data.feeds f where f.namespace_id = p_namespace_id for update skip locked;
    return found;
end $$;
comment on function loci_internal.lock_background_work(integer, text, boolean) is
    'Lock the feed (changes) or the background work (worker) of a namespace for this transaction: alone (waits) or '
    'as far as it is free (tries).';
