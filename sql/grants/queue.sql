-- The queue is worked by the role loci_worker, which the service takes on in connections of its own. Nobody else may
-- touch it; jobs are
-- made, cancelled and retried by functions of the owner, which check the caller.
revoke all on all tables in schema loci_jobs from public, loci_app, loci_analyst;
revoke all on all functions in schema loci_jobs from public, loci_app, loci_analyst;
grant select, insert, update, delete on all tables in schema loci_jobs to loci_worker;
grant usage on all sequences in schema loci_jobs to loci_worker;
grant execute on all functions in schema loci_jobs to loci_worker;

-- Its functions name their tables without a schema. With the path pinned, a row that somebody changes or deletes by
-- hand runs its triggers on these tables and no others, whatever the path of the session.
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid from pg_proc p where p.pronamespace = 'loci_jobs'::regnamespace and p.proconfig is null
    loop
        execute format('alter function %s set search_path = loci_jobs, pg_temp', v_function);
    end loop;
end $$;
