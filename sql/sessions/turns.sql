-- Conversations, turn by turn. By session the primary key, by time conversation_turns_said. Under the
-- policies: rows of granted namespaces only.
create or replace view loci.turns with (security_invoker = true) as
select n.name as namespace, t.session_id, t.id, t.role, t.content, t.said_at, t.metadata, t.logged as waits, t.agent_id,
       loci.agent_name(t.agent_id) as agent
from loci_data.conversation_turns t
join loci_data.namespaces n on n.id = t.namespace_id;
comment on view loci.turns is 'Turns of conversations: what was said, when, and who wrote it down.';
comment on column loci.turns.namespace is 'Name of the namespace.';
comment on column loci.turns.session_id is 'The conversation.';
comment on column loci.turns.id is 'Number; within a conversation its order is that of the turns.';
comment on column loci.turns.role is 'Speaker: user, assistant, system, tool, ….';
comment on column loci.turns.content is 'The text.';
comment on column loci.turns.said_at is 'When.';
comment on column loci.turns.metadata is 'Any JSON object.';
comment on column loci.turns.waits is 'Whether passes that learn from turns have still to read it.';
comment on column loci.turns.agent_id is 'The agent that wrote it down.';
comment on column loci.turns.agent is 'Name of that agent.';
