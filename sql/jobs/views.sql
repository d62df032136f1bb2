-- View of jobs.

-- Work that is done later: what waits, runs, and what became of the rest. Under the policies: rows of granted
-- namespaces only.
create or replace view loci.jobs with (security_invoker = true) as
select n.name as namespace, j.id, j.kind, j.state, j.arguments, j.tries, j.failures, j.postponed, j.agent_id,
       j.created_at, j.due_at,
       j.started_at, j.finished_at, j.error, j.result,
       loci.agent_name(j.agent_id) as agent
from loci_data.jobs j join loci_data.namespaces n on n.id = j.namespace_id;
comment on view loci.jobs is 'Jobs: work that is done later.';
comment on column loci.jobs.namespace is 'Name of the namespace.';
comment on column loci.jobs.id is 'Identifier; orders by time.';
comment on column loci.jobs.kind is 'dream, enrich, contradictions, settle, tune or project.';
comment on column loci.jobs.state is 'waiting, running, succeeded, dead, cancelled or skipped.';
comment on column loci.jobs.arguments is 'Subject of the job.';
comment on column loci.jobs.tries is 'How often it was begun.';
comment on column loci.jobs.failures is 'How often it failed, since it was made or last retried by hand.';
comment on column loci.jobs.postponed is 'How often it was put off since then.';
comment on column loci.jobs.agent_id is 'Agent that asked for it; null: a schedule.';
comment on column loci.jobs.created_at is 'When it was asked for.';
comment on column loci.jobs.due_at is 'Not before then.';
comment on column loci.jobs.started_at is 'When it was last begun.';
comment on column loci.jobs.finished_at is 'When it ended.';
comment on column loci.jobs.error is 'Why it last failed or was put off.';
comment on column loci.jobs.result is 'Result; while it runs, its progress.';
comment on column loci.jobs.agent is 'Name of that agent.';
