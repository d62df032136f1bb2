-- Views of embedding models and model calls.

-- Which models make vectors here, and how far is the one that is being filled? waiting and refused count what the
-- reader may see, by index.
create or replace view loci.embedding_models with (security_invoker = true) as
select m.id, m.name, m.dimensions, m.asks, case when m.active then 'active' when m.filling then 'filling'
    when m.second then 'second'
    when m.dropped_at is null then 'retired' else 'dropped' end as state, m.chosen,
       (select count(*) from loci_data.embedding_queue q where q.model_id = m.id and q.error is null)
           + (select count(*) from loci_data.entity_queue q where q.model_id = m.id and q.error is null) as waiting,
       (select count(*) from loci_data.embedding_queue q where q.model_id = m.id and q.error is not null)
           + (select count(*) from loci_data.entity_queue q where q.model_id = m.id and q.error is not null) as refused,
       m.queued_at, m.created_at, m.dropped_at
from loci_data.embedding_models m;
comment on view loci.embedding_models is
    'Embedding models: the active one, which recall asks; a second one, whose vectors join its; one that is being '
    'filled behind it; retired ones, whose vectors are being dropped; and dropped ones.';
comment on column loci.embedding_models.id is 'Number of the model.';
comment on column loci.embedding_models.name is 'Provider and model, such as static/wordllama-256.';
comment on column loci.embedding_models.dimensions is 'Length of its vectors.';
comment on column loci.embedding_models.asks is 'Dimensions that an endpoint is asked for; null: as many as it gives.';
comment on column loci.embedding_models.state is 'active, second, filling, retired, or dropped.';
comment on column loci.embedding_models.chosen is 'Whether somebody asked for it by name.';
comment on column loci.embedding_models.waiting is
    'Memories and entities of the namespaces you may read that wait for a vector of it.';
comment on column loci.embedding_models.refused is 'The same of those that it refused for good.';
comment on column loci.embedding_models.queued_at is
    'When all that was there before waited for a vector of it; null: not yet, or it was the first model.';
comment on column loci.embedding_models.created_at is 'When it was first used.';
comment on column loci.embedding_models.dropped_at is
    'When the last vector of a model that is not in use any more was dropped.';

-- Calls of a language model: what for, tokens, cost and time. Under the policies: rows of granted namespaces only.
create or replace view loci.model_calls with (security_invoker = true) as
select n.name as namespace, c.id, c.job_id, c.purpose, c.model, c.state, c.started_at, c.took_ms, c.prompt_tokens,
       c.completion_tokens, c.estimated, c.cost, c.error
from loci_data.model_calls c join loci_data.namespaces n on n.id = c.namespace_id;
comment on view loci.model_calls is
    'Calls of a language model: what for, tokens, cost and time. No text of prompts or answers.';
comment on column loci.model_calls.namespace is 'Name of the namespace.';
comment on column loci.model_calls.id is 'Identifier; orders by time.';
comment on column loci.model_calls.job_id is 'The job that made it; null: a request did. Joins jobs.id.';
comment on column loci.model_calls.purpose is
    'Purpose: memories, entities, preferences, graph, contradictions, enrichment, retain or reflect.';
comment on column loci.model_calls.model is 'Name of the model.';
comment on column loci.model_calls.state is 'running (also of a worker that died meanwhile), succeeded or failed.';
comment on column loci.model_calls.started_at is 'When.';
comment on column loci.model_calls.took_ms is
    'Milliseconds until the whole answer was there, or it failed; null: it runs.';
comment on column loci.model_calls.prompt_tokens is 'Tokens that were sent.';
comment on column loci.model_calls.completion_tokens is 'Tokens that came back; while it runs, as many as may.';
comment on column loci.model_calls.estimated is 'Whether the tokens are estimated from characters.';
comment on column loci.model_calls.cost is 'By the prices in the service''s settings; 0 without prices.';
comment on column loci.model_calls.error is 'Why it failed.';
