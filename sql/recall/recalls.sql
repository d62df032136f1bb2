-- Logged recalls, one row a question; what each was answered with is in recall_log. By id the primary key, by session
-- recalls_session, by time recalls_at. Under the policies: rows of granted namespaces only.
create or replace view loci.recalls with (security_invoker = true) as
select n.name as namespace, r.id, r.at, r.session_id, r.query, r.results,
       (select count(*) from loci_data.recall_results x
        where x.namespace_id = r.namespace_id and x.recall_id = r.id and x.useful) as useful,
       (select count(*) from loci_data.recall_results x
        where x.namespace_id = r.namespace_id and x.recall_id = r.id and not x.useful) as useless,
       r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at, r.skipped, r.took_ms, r.agent_id,
       loci.agent_name(r.agent_id) as agent
from loci_data.recalls r
join loci_data.namespaces n on n.id = r.namespace_id;
comment on view loci.recalls is
    'Logged recalls: one row a question. The memories that it was answered with are in recall_log. '
    'Empty where the setting recall_log is off: see logs_recalls in namespace_stats.';
comment on column loci.recalls.namespace is 'Name of the namespace.';
comment on column loci.recalls.id is
    'Identifier; of a question to several namespaces the same in each.';
comment on column loci.recalls.at is 'When it was asked.';
comment on column loci.recalls.session_id is 'The conversation that asked; null: none.';
comment on column loci.recalls.query is 'The question.';
comment on column loci.recalls.results is 'With how many memories it was answered.';
comment on column loci.recalls.useful is 'How many of them were called useful later.';
comment on column loci.recalls.useless is 'How many were called useless.';
comment on column loci.recalls.arms is 'Arms that it asked for.';
comment on column loci.recalls.fusion is 'linear, rrf or relative_score.';
comment on column loci.recalls.k is 'How many results were asked for.';
comment on column loci.recalls.filters is 'Filters.';
comment on column loci.recalls.as_of is 'Valid at; null: now.';
comment on column loci.recalls.known_at is 'As known at; null: now.';
comment on column loci.recalls.skipped is 'Arms that did not take part, and why.';
comment on column loci.recalls.took_ms is 'Milliseconds until the ranking stood.';
comment on column loci.recalls.agent_id is 'Agent that asked.';
comment on column loci.recalls.agent is 'Name of that agent.';
