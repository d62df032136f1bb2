-- What the questions of docs/sql/ are asked over, beside the demo: rules, a contradiction, evidence, logged recalls, a merge, and a second agent.
select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false), set_config('loci.origin', '{"action": "rehearsal", "via": "rest"}', false);
select loci_api.register_model('cookbook', 256);
select loci_api.upsert_aspect('default', 'RockBot', '{"name": "Deployment"}');
select loci_api.add_attribute('default', (select id from loci.aspects where namespace = 'default' and name = 'Deployment'), i.item || jsonb_build_object('memory_id', m.id))
from (values ('rockbot-key-rule', '{"content": "Deploys only after two reviews", "kind": "constraint", "importance": 0.9}'::jsonb),
             ('rockbot-deploy', '{"content": "RockBot runs on Kubernetes", "importance": 0.5, "valid_from": "2024-01-01T00:00:00Z"}'),
             ('rockbot-deploy', '{"content": "RockBot no longer runs on Kubernetes", "importance": 0.6, "valid_from": "2025-01-01T00:00:00Z"}')) i(lineage, item)
join loci.current_memories m on m.namespace = 'default' and m.lineage = i.lineage;
select loci_api.pin_entity('default', (select id from loci.entities where namespace = 'default' and name = 'RockBot'), true);
-- One edge was seen in three conversations, one in one; one fades in about ten days, and one has.
select loci_api.observe_edges('default', jsonb_build_array(
    jsonb_build_object('source', 'Alice', 'type', 'knows', 'target', 'Bob', 'confidence', 0.75, 'session_id', 'monday'),
    jsonb_build_object('source', 'Alice', 'type', 'knows', 'target', 'Bob', 'confidence', 0.75, 'session_id', 'tuesday'),
    jsonb_build_object('source', 'Bob', 'type', 'knows', 'target', 'Dana', 'confidence', 0.3, 'observed_at', now() - interval '100 days', 'session_id', 'old'),
    jsonb_build_object('source', 'Dana', 'type', 'knows', 'target', 'Alex', 'confidence', 0.3, 'observed_at', now() - interval '200 days', 'session_id', 'older'),
    -- told today of the past: two spells
    jsonb_build_object('source', 'Dana', 'type', 'lived_in', 'literal', 'Kiel', 'valid_from', timestamptz '2015-01-01Z', 'valid_to', timestamptz '2016-07-01Z', 'session_id', 'tuesday'),
    jsonb_build_object('source', 'Dana', 'type', 'lived_in', 'literal', 'Kiel', 'valid_from', timestamptz '2020-03-01Z', 'valid_to', timestamptz '2022-01-01Z', 'session_id', 'tuesday')));
-- A type with one target at a time.
select loci_api.set_edge_type('default', 'reports_to', '{"single_valued": true}');
select loci_api.observe_edges('default', jsonb_build_array(
    jsonb_build_object('source', 'Dana', 'type', 'reports_to', 'target', 'Alice', 'valid_from', timestamptz '2023-01-01Z', 'session_id', 'tuesday'),
    jsonb_build_object('source', 'Dana', 'type', 'reports_to', 'target', 'Bob', 'valid_from', timestamptz '2024-06-01Z', 'session_id', 'tuesday')));
select loci_api.upsert_entities('default', '[{"name": "Rabbit broker", "type": "tool"}]');
select loci_api.merge_entities('default', 'RabbitMQ', 'Rabbit broker', 'the same broker');
select loci_api.link_memories('default', a.id, b.id, 'about', 0.8)
from loci.current_memories a, loci.current_memories b
where a.namespace = 'default' and a.lineage = 'rockbot-bus' and b.namespace = 'default' and b.lineage = 'rockbot-purpose';
-- What was said about the agent's work.
select count(*) from loci_api.record_signals('default', jsonb_build_array(
    jsonb_build_object('kind', 'correction', 'content', 'Use grep for content search, not search_files', 'session_id', 'monday'),
    jsonb_build_object('kind', 'praise', 'content', 'Short answers, good', 'session_id', 'monday',
                       'memory_id', (select id from loci.current_memories where namespace = 'default' and lineage = 'coffee'))));
-- Three recalls: one answered well by words and names, one badly by words, one not at all.
select loci_api.log_recall('default', jsonb_build_object('id', r.id, 'session_id', 'monday', 'query', r.query, 'arms', array['lexical', 'names'], 'fusion', 'rrf',
                                                     'k', 2, 'results', 1, 'took_ms', 3.5),
                       coalesce((select jsonb_agg(jsonb_build_object('document', m.doc_id, 'rank', 1, 'score', 0.5, 'arms', r.arms))
                                 from loci_data.memories m join loci.current_memories c using (id) where c.lineage = r.lineage), '[]'))
from (values ('00000000-0000-4000-8000-000000000001'::uuid, 'what does Alice drink?', 'coffee', '{"lexical": {"rank": 1}, "names": {"rank": 1}}'::jsonb),
             ('00000000-0000-4000-8000-000000000002', 'when is the standup?', 'timezone', '{"lexical": {"rank": 2}}'),
             ('00000000-0000-4000-8000-000000000003', 'where is the printer?', null, null)) r(id, query, lineage, arms);
select loci_api.rate_recall('default', r.id, jsonb_build_array(jsonb_build_object('memory_id', x.memory_id, 'useful', r.useful)))
from (values ('00000000-0000-4000-8000-000000000001'::uuid, true), ('00000000-0000-4000-8000-000000000002', false)) r(id, useful)
join loci_data.recall_results x on x.recall_id = r.id;
-- A dream has run two passes: one wrote a preference, one would have removed too much.
select loci_api.record_pass('default', j.id, p.pass, p.report)
from (select id from loci_api.enqueue_job('default', 'dream')) j
cross join (values ('memories', '{"outcome": "stopped", "seen": 20, "proposed": 9, "error": "it would remove 9 of 20 memories"}'::jsonb),
                   ('preferences', '{"outcome": "applied", "seen": 12, "proposed": 3, "applied": 1, "changes": [{"action": "created", "ids": []}],
                                     "refused": [{"guard": "too_few", "action": "infer", "ids": ["7"], "reason": "1 of 3 occurrences that a minor preference needs"},
                                                 {"guard": "invented", "action": "infer", "ids": ["8"], "reason": "it names 1 things that no cited turn names"}]}')) p(pass, report);
-- What a session was shown, and found again.
select loci_api.record_injections('default', 'monday', array_agg(id)) from loci.current_memories where namespace = 'default' and lineage in ('coffee', 'rockbot-deploy');
select loci_api.record_hits('default', 'monday', array_agg(id)) from loci.current_memories where namespace = 'default' and lineage in ('coffee', 'rockbot-deploy');
select loci_api.end_session('default', 'monday');
-- Another agent writes: something that is known already, and something new.
select set_config('loci.operation', '', false), set_config('loci.origin', '{"action": "write_memory", "via": "rest"}', false),
       set_config('loci.agent', (select agent_id::text from loci_api.create_key('default', 'writer', 'scout', gen_random_uuid(), sha256('scout'))), false);
select set_config('loci.operation', '', false);
select loci_api.remember('default', jsonb_build_array(
    jsonb_build_object('content', 'Keep answers short and lead with the conclusion', 'lineage', 'answers-style'),
    jsonb_build_object('content', 'The printer is on the third floor', 'category', 'office', 'embedding', to_jsonb(array_fill(0.1::real, array[256])))));
select set_config('loci.operation', '', false), set_config('loci.origin', '', false), set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false);
select moved from loci_api.sequence_changes(10000);
-- A job that was tried and given up, by hand: the place in the queue is taken as the queue's worker, and the rest is said as the operator.
select id from loci_api.enqueue_job('default', 'dream', '{"passes": ["memories"]}');
set role loci_worker;
set search_path = loci_jobs;
select set_config('cookbook.place', (procrastinate_fetch_job_v2(array['loci'], (select worker_id from procrastinate_register_worker_v1()))).id::text, false);
reset role;
select failures from loci_api.record_job_failure(current_setting('cookbook.place')::bigint, 0, 'the endpoint does not answer: connection refused');
set role loci_worker;
select procrastinate_finish_job_v1(current_setting('cookbook.place')::bigint, 'failed', false);
delete from procrastinate_workers;
reset role;
reset search_path;
-- Calls of a model: two for passes, one of which failed, and one that a request waited for.
select loci_api.finish_model_call('default', c.id, m.prompt, m.completion, false, 1200, m.error, 1, 4)
from (values (1, 'memories', 4000, 900, null), (2, 'memories', 3000, 0, 'the endpoint answered 500'), (3, 'retain', 800, 150, null))
     m(place, purpose, prompt, completion, error)
cross join lateral loci_api.reserve_model_call('default', null, m.purpose, 'demo', m.prompt, 1000, 1000, 1, 4) c;
