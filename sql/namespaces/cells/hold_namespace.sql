-- Wait for the background work on a namespace and hold it off to the end of the transaction, one after the other in the
-- order of erase_memories: it locks rows in another order than cascades do. A worker locks the row of the queue before
-- the job; so does this.
create or replace function loci_internal.hold_namespace(p_namespace_id integer) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    perform loci_internal.lock_background_work(p_namespace_id, 'worker', true);
    perform loci_internal.lock_background_work(p_namespace_id, 'changes', true);
    perform loci_internal.lock_alone(p_namespace_id, 'postings');
    perform from loci_jobs.procrastinate_jobs q
    where q.id = any (array(select j.queue_id from loci_data.jobs j where j.namespace_id = p_namespace_id
                            and j.finished_at is null))
    order by q.id for update;
end $$;
comment on function loci_internal.hold_namespace(integer) is
    'Hold off the background work on a namespace for this transaction.';
