-- View of the log of recalls.

-- Logged recalls, one row for each memory in the answer; one without a memory where there was none. Under the policies:
-- rows of granted namespaces only.
create or replace view loci.recall_log with (security_invoker = true) as
select n.name as namespace, r.id as recall_id, r.at, r.agent_id, r.session_id, r.query, r.fusion, r.k, r.skipped,
       r.took_ms,
       x.rank, x.memory_id, x.score, x.arms,
       case when i.injected_at >= r.at then i.injected_at end as injected_at, i.hits, i.last_hit_at,
       x.useful, x.note, x.rated_at, x.rated_by, loci.agent_name(r.agent_id) as agent,
       loci.agent_name(x.rated_by) as rater, m.lineage, m.content as memory
from loci_data.recalls r
join loci_data.namespaces n on n.id = r.namespace_id
left join loci_data.recall_results x on x.namespace_id = r.namespace_id and x.recall_id = r.id
left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = r.session_id
     and i.memory_id = x.memory_id
left join loci_data.memories m on m.namespace_id = x.namespace_id and m.id = x.memory_id;
comment on view loci.recall_log is
    'Logged recalls and the memories that they were answered with: arms, ranks, whether they were injected, and later '
    'feedback. Empty where the setting recall_log is off: see logs_recalls in namespace_stats.';
comment on column loci.recall_log.namespace is 'Name of the namespace.';
comment on column loci.recall_log.recall_id is
    'The recall; the same in every namespace that one question searched. Joins recalls.id.';
comment on column loci.recall_log.at is 'When it was asked.';
comment on column loci.recall_log.agent_id is 'Agent that asked.';
comment on column loci.recall_log.session_id is 'The conversation that asked.';
comment on column loci.recall_log.query is 'The question.';
comment on column loci.recall_log.fusion is 'linear, rrf or relative_score.';
comment on column loci.recall_log.k is 'How many results were asked for.';
comment on column loci.recall_log.skipped is 'Arms that did not take part, and why.';
comment on column loci.recall_log.took_ms is 'Milliseconds until the ranking stood.';
comment on column loci.recall_log.rank is 'Place in the answer, from 1; null: no memory was found.';
comment on column loci.recall_log.memory_id is 'The memory. Joins memory_versions.id.';
comment on column loci.recall_log.score is 'Its fused score.';
comment on column loci.recall_log.arms is 'By arm that found it: rank and score there.';
comment on column loci.recall_log.injected_at is 'When the session was shown it, at the recall or later; null: not.';
comment on column loci.recall_log.hits is 'How often the session has found it by its words after it was shown.';
comment on column loci.recall_log.last_hit_at is 'When it did last.';
comment on column loci.recall_log.useful is 'Note of the rating.';
comment on column loci.recall_log.note is 'Why.';
comment on column loci.recall_log.rated_at is 'When that was said.';
comment on column loci.recall_log.rated_by is 'By whom.';
comment on column loci.recall_log.agent is 'Name of the agent that asked.';
comment on column loci.recall_log.rater is 'Name of the agent that rated.';
comment on column loci.recall_log.lineage is 'Name that groups the versions of the memory.';
comment on column loci.recall_log.memory is 'Content of the memory.';
