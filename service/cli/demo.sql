-- What agents have done in the world of demo.jsonl, so that each view has something to show: aspects and a rule, a
-- contradiction, evidence from several conversations, spells, a merge, a link, signals, logged and rated recalls, what
-- a session was shown and found again, a dream that has run, calls of a model, and a second agent. It runs in the
-- loader's transaction, as the operator; whoever calls says what REST would say of itself.
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "upsert_aspect", "via": "rest"}', true);
select loci_api.upsert_aspect('default', 'RockBot', '{"name": "Deployment"}');
select loci_api.add_attribute('default', a.id, i.item || jsonb_build_object('memory_id', m.id))
from (values
    ('rockbot-key-rule',
     '{"content": "Deploys only after two reviews", "kind": "constraint", "importance": 0.9}'::jsonb),
    ('rockbot-deploy',
     '{"content": "RockBot runs on Kubernetes", "importance": 0.5, "valid_from": "2024-01-01T00:00:00Z"}'),
    ('rockbot-deploy',
     '{"content": "RockBot no longer runs on Kubernetes", "importance": 0.6, "valid_from": "2025-01-01T00:00:00Z"}'))
     i(lineage, item)
join loci.current_memories m on m.namespace = 'default' and m.lineage = i.lineage
join loci.aspects a on a.namespace = 'default' and a.entity = 'RockBot' and a.name = 'Deployment';

-- One edge was seen in two conversations; one fades in about ten days, and one has. Two were told today of the past.
-- The last type has one target at a time.
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "observe_edges", "via": "rest"}', true);
select loci_api.set_edge_type('default', 'based_in', '{"single_valued": true}');
select loci_api.observe_edges('default', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
    'source', e.source, 'type', e.type, 'target', e.target, 'literal', e.literal, 'session_id', e.session,
    'target_type', case e.target when 'Teresa Prata' then 'person' end,
    'confidence', e.confidence, 'observed_at', now() - e.ago * interval '1 day', 'valid_from', e.since,
    'valid_to', e.until)) order by e.place))
from (values
    (1, 'Dana', 'knows', 'Alex', null, 'monday', 0.75, null, null::timestamptz, null::timestamptz),
    (2, 'Dana', 'knows', 'Alex', null, 'tuesday', 0.75, null, null, null),
    (3, 'Alex', 'knows', 'Teresa Prata', null, 'autumn', 0.3, 100, null, null),
    (4, 'Bob', 'knows', 'Dana', null, 'summer', 0.3, 200, null, null),
    (5, 'Dana', 'lived_in', null, 'Kiel', 'tuesday', null, null, '2015-01-01Z', '2016-07-01Z'),
    (6, 'Dana', 'lived_in', null, 'Kiel', 'tuesday', null, null, '2020-03-01Z', '2022-01-01Z'),
    (7, 'Dana', 'based_in', 'Lisbon', null, 'tuesday', null, null, '2023-01-01Z', null),
    (8, 'Dana', 'based_in', 'Porto', null, 'tuesday', null, null, '2024-06-01Z', null))
     e(place, source, type, target, literal, session, confidence, ago, since, until);

select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "merge_entities", "via": "rest"}', true);
select loci_api.upsert_entities('default', '[{"name": "Rabbit broker", "type": "tool"}]');
select loci_api.merge_entities('default', 'RabbitMQ', 'Rabbit broker', 'the same broker');
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "link_memories", "via": "rest"}', true);
select loci_api.link_memories('default', a.id, b.id, 'about', 0.8)
from loci.current_memories a join loci.current_memories b on b.namespace = a.namespace
where a.namespace = 'default' and a.lineage = 'rockbot-bus' and b.lineage = 'rockbot-purpose';

-- What was said about the agent's work.
select count(*) from loci_api.record_signals('default', jsonb_build_array(
    jsonb_build_object('kind', 'correction', 'content', 'Use grep for content search, not search_files',
                       'session_id', 'monday'),
    jsonb_build_object('kind', 'praise', 'content', 'Short answers, good', 'session_id', 'monday', 'memory_id',
                       (select id from loci.current_memories where namespace = 'default' and lineage = 'coffee'))));

-- Three recalls: one answered well by words and names, one badly by words, one not at all.
select loci_api.log_recall('default',
    jsonb_build_object('id', loci_api.uuid7(), 'session_id', 'monday', 'query', r.query, 'arms', array['lexical', 'graph'],
                       'fusion', 'rrf', 'k', 2, 'results', num_nonnulls(r.lineage), 'took_ms', 3.5),
    coalesce((select jsonb_agg(jsonb_build_object('document', m.doc_id, 'rank', 1, 'score', 0.5, 'arms', r.arms))
              from loci_data.memories m join loci.current_memories c on c.namespace = 'default' and c.id = m.id
              where c.lineage = r.lineage), '[]'))
from (values
    ('what does Alice drink?', 'coffee',
     '{"lexical": {"rank": 1}, "names": {"rank": 1}}'::jsonb),
    ('when is the standup?', 'timezone', '{"lexical": {"rank": 2}}'),
    ('where is the printer?', null, null)) r(query, lineage, arms);
select loci_api.rate_recall('default', l.recall_id, jsonb_build_array(jsonb_build_object(
    'memory_id', l.memory_id, 'useful', l.query = 'what does Alice drink?')))
from loci.recall_log l where l.namespace = 'default' and l.session_id = 'monday' and l.memory_id is not null;

-- What the session was shown, and found again.
select loci_api.record_injections('default', 'monday', array_agg(id))
from loci.current_memories where namespace = 'default' and lineage in ('coffee', 'rockbot-deploy');
select loci_api.record_hits('default', 'monday', array_agg(id))
from loci.current_memories where namespace = 'default' and lineage in ('coffee', 'rockbot-deploy');
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "end_session", "via": "rest"}', true);
select loci_api.end_session('default', 'monday');

-- A dream has run two passes: one wrote a preference, one would have removed too much. Three calls of a model: two for
-- passes, one of which failed, and one that a request waited for.
create temporary table demo_jobs on commit drop as
select j.id from loci_api.enqueue_job('default', 'dream', '{"passes": ["memories", "preferences"]}') j;
select loci_api.record_pass('default', j.id, p.pass, p.report)
from demo_jobs j cross join (values
    ('memories', '{"outcome": "stopped", "seen": 20, "proposed": 9,
                   "error": "it would remove 9 of 20 memories"}'::jsonb),
    ('preferences', '{"outcome": "applied", "seen": 12, "proposed": 3, "applied": 1,
                      "changes": [{"action": "created", "ids": []}], "refused": [
        {"guard": "too_few", "action": "infer", "ids": ["7"],
         "reason": "1 of 3 occurrences that a minor preference needs"},
        {"guard": "invented", "action": "infer", "ids": ["8"],
         "reason": "it names 1 things that no cited turn names"}]}')) p(pass, report);
select loci_api.finish_model_call('default', c.id, m.prompt, m.completion, false, 1200, m.error, 1, 4)
from (values (1, 'memories', 4000, 900, null), (2, 'memories', 3000, 0, 'the endpoint answered 500'),
             (3, 'retain', 800, 150, null)) m(place, purpose, prompt, completion, error)
left join demo_jobs j on m.place < 3
cross join lateral loci_api.reserve_model_call('default', j.id, m.purpose, 'demo', m.prompt, 1000, 1000, 1, 4) c;

-- The job is over before anybody else sees it.
grant select on demo_jobs to loci_worker;
set local role loci_worker;
set local search_path = loci_jobs;
create temporary table demo_places on commit drop as
select q.id from pg_temp.demo_jobs j join procrastinate_jobs q on q.args ->> 'job_id' = j.id::text;
update procrastinate_jobs q set status = 'doing' from pg_temp.demo_places p where q.id = p.id;
grant select on demo_places to loci_app;
reset role;
select loci_api.finish_job('default', j.id, '{"passes": 2, "applied": 1}') from pg_temp.demo_jobs j;
set local role loci_worker;
select procrastinate_finish_job_v1(p.id, 'succeeded'::procrastinate_job_status, false) from pg_temp.demo_places p;
reset role;
set local search_path = default;

-- Another agent writes: something that is known already, and something new. Nobody knows its key, which is revoked.
create temporary table demo_agent on commit drop as
select agent_id, id as key_id
from loci_api.create_key('default', 'writer', 'scout', gen_random_uuid(), sha256(gen_random_uuid()::text::bytea));
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "write_memory", "via": "rest"}', true),
       set_config('loci.agent', (select agent_id::text from demo_agent), true);
select loci_api.remember('default', jsonb_build_array(
    jsonb_build_object('content', 'Keep answers short and lead with the conclusion', 'lineage', 'answers-style'),
    jsonb_build_object('content', 'The printer is on the third floor', 'category', 'office')));
select set_config('loci.operation', '', true),
       set_config('loci.origin', '{"action": "revoke_key", "via": "rest"}', true),
       set_config('loci.agent', '00000000-0000-0000-0000-000000000000', true);
select loci_api.revoke_key('default', key_id) from demo_agent;
