-- Views of passes and signals.

-- Signals by people and tools about the agent's work. Under the policies: rows of granted namespaces only.
create or replace view loci.feedback_signals with (security_invoker = true) as
select n.name as namespace, s.id, s.kind, s.content, s.session_id, s.memory_id, s.agent_id, s.at,
       loci.agent_name(s.agent_id) as agent
from loci_data.feedback_signals s join loci_data.namespaces n on n.id = s.namespace_id;
comment on view loci.feedback_signals is
    'Signals by people and tools about the agent''s work; consolidation learns from corrections.';
comment on column loci.feedback_signals.namespace is 'Name of the namespace.';
comment on column loci.feedback_signals.id is 'Identifier (UUID version 7).';
comment on column loci.feedback_signals.kind is 'correction, tool_failure, praise, complaint or note.';
comment on column loci.feedback_signals.content is 'The text.';
comment on column loci.feedback_signals.session_id is 'The conversation; null: none.';
comment on column loci.feedback_signals.memory_id is
    'The memory that it is about; null: none. Joins memory_versions.id.';
comment on column loci.feedback_signals.agent_id is 'Agent that noted it.';
comment on column loci.feedback_signals.at is 'When.';
comment on column loci.feedback_signals.agent is 'Name of that agent.';

-- Reports of passes that use a model: seen, proposed, refused and by which guard, applied. Under the policies: rows
-- of granted namespaces only.
create or replace view loci.pass_runs with (security_invoker = true) as
select n.name as namespace, r.id, r.job_id, r.pass, r.outcome, r.operation_id, r.started_at, r.finished_at, r.seen,
       r.proposed, r.applied,
       r.refused, r.changes, r.error
from loci_data.pass_runs r join loci_data.namespaces n on n.id = r.namespace_id;
comment on view loci.pass_runs is 'Reports of passes that use a model: one row for each pass of a job.';
comment on column loci.pass_runs.namespace is 'Name of the namespace.';
comment on column loci.pass_runs.id is 'Identifier; orders by time.';
comment on column loci.pass_runs.job_id is 'The job that it was part of. Joins jobs.id.';
comment on column loci.pass_runs.pass is 'memories, entities, preferences, graph, contradictions or enrichment.';
comment on column loci.pass_runs.outcome is
    'applied; unchanged (nothing new to look at: no model was asked); planned (dry run); stopped (it would have '
    'removed too much); failed (no usable answer).';
comment on column loci.pass_runs.operation_id is
    'The operation that its changes are, to list or undo; null: it changed nothing. '
    'Joins operations.id.';
comment on column loci.pass_runs.started_at is 'When it began.';
comment on column loci.pass_runs.finished_at is 'When it ended.';
comment on column loci.pass_runs.seen is 'How many things the model was shown.';
comment on column loci.pass_runs.proposed is 'How many changes the model proposed.';
comment on column loci.pass_runs.applied is 'How many of them were made; of a dry run: would be.';
comment on column loci.pass_runs.refused is 'Refused proposals, as [{guard, action, ids, reason}].';
comment on column loci.pass_runs.changes is 'Applied proposals, as [{action, ids}].';
comment on column loci.pass_runs.error is 'Why it stopped or failed.';
