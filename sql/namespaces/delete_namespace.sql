-- Remove a namespace and everything in it, in one transaction. Admin. Cascades follow the foreign keys. Background work
-- on it is waited for and held off (lock_background_work, and the lock of compact_lexical_index): it locks rows in
-- another order than the
-- cascades do.
create or replace function loci_api.delete_namespace(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    -- one after the other, in the order of erase_memories
    perform loci_internal.lock_background_work(v_ns, 'worker', true);
    perform loci_internal.lock_background_work(v_ns, 'changes', true);
    perform loci_internal.lock_alone(v_ns, 'postings');
    -- A worker that takes a job locks its place in the queue before the job; so does this.
    perform from loci_jobs.procrastinate_jobs q
    where q.id = any (array(select j.queue_id from loci_data.jobs j where j.namespace_id = v_ns
                            and j.finished_at is null))
    order by q.id for update;
    -- Evidence first: a foreign key of rows written in this same transaction is checked again when its edge goes.
    delete from loci_data.edge_observations where namespace_id = v_ns;
    delete from loci_data.namespaces where id = v_ns;
end $$;
comment on function loci_api.delete_namespace(text) is
    'Delete a namespace and everything in it. Admin. Errors: 42501, P0002.';
