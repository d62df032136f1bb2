-- The queue is worked by the role loci_worker, which the service takes on in connections of its own. Nobody else may
-- touch it; jobs are
-- made, cancelled and retried by functions of the owner, which check the caller.
revoke all on all tables in schema loci_jobs from public, loci_app, loci_analyst;
revoke all on all functions in schema loci_jobs from public, loci_app, loci_analyst;
grant select, insert, update, delete on all tables in schema loci_jobs to loci_worker;
grant usage on all sequences in schema loci_jobs to loci_worker;
grant execute on all functions in schema loci_jobs to loci_worker;
