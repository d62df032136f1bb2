-- What people and tools said about the agent's work. Under the policies: rows of granted namespaces only.
create or replace view loci.feedback_signals with (security_invoker = true) as
select n.name as namespace, s.id, s.kind, s.content, s.session_id, s.memory_id, s.agent_id, s.at
from loci_data.feedback_signals s join loci_data.namespaces n on n.id = s.namespace_id;
comment on view loci.feedback_signals is 'What people and tools said about the agent''s work; consolidation learns from corrections.';
comment on column loci.feedback_signals.namespace is 'Name of the namespace.';
comment on column loci.feedback_signals.id is 'Identifier (UUID version 7).';
comment on column loci.feedback_signals.kind is 'correction, tool_failure, praise, complaint or note.';
comment on column loci.feedback_signals.content is 'What was said.';
comment on column loci.feedback_signals.session_id is 'The conversation; null: none.';
comment on column loci.feedback_signals.memory_id is 'The memory that it is about; null: none.';
comment on column loci.feedback_signals.agent_id is 'Who noted it.';
comment on column loci.feedback_signals.at is 'When.';
