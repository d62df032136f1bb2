-- Views of feedback and working memory.

-- Changes in the weights of aspects by ended sessions. Under the policies: rows of granted namespaces only.
create or replace view loci.feedback with (security_invoker = true) as
select n.name as namespace, f.id, f.at, f.agent_id, f.session_id, f.kind, f.aspects, f.confirmations, f.change,
       loci.agent_name(f.agent_id) as agent
from loci_data.feedback_events f
join loci_data.namespaces n on n.id = f.namespace_id;
comment on view loci.feedback is 'Confirmations and decays of aspects, by the session whose end they were.';
comment on column loci.feedback.namespace is 'Name of the namespace.';
comment on column loci.feedback.id is 'Identifier; its order is the order of the changes.';
comment on column loci.feedback.at is 'When.';
comment on column loci.feedback.agent_id is 'The agent that ended the session.';
comment on column loci.feedback.session_id is 'The session.';
comment on column loci.feedback.kind is 'confirmation or decay.';
comment on column loci.feedback.aspects is 'Number of aspects touched.';
comment on column loci.feedback.confirmations is
    'Memories that were shown and found again, once for each aspect; 0 for decay.';
comment on column loci.feedback.change is 'Sum of the changes of weight.';
comment on column loci.feedback.agent is 'Name of that agent.';

-- Present entries of working memory: expired ones are not there, whether or not they were swept. Under the policies:
-- rows of granted namespaces only.
create or replace view loci.working_memory with (security_invoker = true) as
select n.name as namespace, w.key, w.space, w.value, w.category, w.tags, w.agent_id, w.stored_at, w.expires_at,
       loci.agent_name(w.agent_id) as agent
from loci_data.working_memory w
join loci_data.namespaces n on n.id = w.namespace_id
where w.expires_at > statement_timestamp();
comment on view loci.working_memory is 'Live entries of working memory.';
comment on column loci.working_memory.namespace is 'Name of the namespace.';
comment on column loci.working_memory.key is 'Full path.';
comment on column loci.working_memory.space is 'First two segments of the key.';
comment on column loci.working_memory.value is 'Any JSON.';
comment on column loci.working_memory.category is 'Slash path, or null.';
comment on column loci.working_memory.tags is 'Labels.';
comment on column loci.working_memory.agent_id is 'Owner of the entry.';
comment on column loci.working_memory.stored_at is 'When it was written.';
comment on column loci.working_memory.expires_at is 'From when it is unseen.';
comment on column loci.working_memory.agent is 'Name of that agent.';
