-- Calls of a language model: what for, tokens, cost and time. Under the policies: rows of granted namespaces only.
create or replace view loci.model_calls with (security_invoker = true) as
select n.name as namespace, c.id, c.job_id, c.purpose, c.model, c.state, c.started_at, c.took_ms, c.prompt_tokens, c.completion_tokens,
       c.estimated, c.cost, c.error
from loci_data.model_calls c join loci_data.namespaces n on n.id = c.namespace_id;
comment on view loci.model_calls is 'Calls of a language model: what for, tokens, cost and time (row L5). No text of prompts or answers.';
comment on column loci.model_calls.namespace is 'Name of the namespace.';
comment on column loci.model_calls.id is 'Identifier; orders by time.';
comment on column loci.model_calls.job_id is 'The job that made it; null: a request did.';
comment on column loci.model_calls.purpose is 'What for: memories, entities, preferences, graph, contradictions, enrichment, retain or reflect.';
comment on column loci.model_calls.model is 'Name of the model.';
comment on column loci.model_calls.state is 'running (also of a worker that died meanwhile), succeeded or failed.';
comment on column loci.model_calls.started_at is 'When.';
comment on column loci.model_calls.took_ms is 'Milliseconds until the whole answer was there, or it failed; null: it runs.';
comment on column loci.model_calls.prompt_tokens is 'Tokens that were sent.';
comment on column loci.model_calls.completion_tokens is 'Tokens that came back; while it runs, as many as may.';
comment on column loci.model_calls.estimated is 'Whether the tokens are reckoned from characters.';
comment on column loci.model_calls.cost is 'By the prices in the service''s settings; 0 without prices.';
comment on column loci.model_calls.error is 'Why it failed.';
