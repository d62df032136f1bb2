-- One namespace of 6,000 of everything, two others beside it, written past the triggers: only plans are looked at.
set local session_replication_role = replica;
select loci_api.create_namespace(n) from unnest(array['plan-large', 'plan-other', 'plan-small']) n;
create temporary table size on commit drop as
select n.id as ns, s.rows from (values ('plan-large', 6000), ('plan-other', 2000), ('plan-small', 200)) s(name, rows)
join loci_data.namespaces n using (name);
create function pg_temp.uid(kind text, ns integer, n integer) returns uuid language sql immutable as $$ select md5(kind || ns || '/' || n)::uuid $$;

-- Two in three memories still hold; every tenth is a lineage of several versions.
insert into loci_data.memories (namespace_id, id, lineage, lineage_id, version, content, content_hash, category, tags, layer, valid_from, valid_to,
                                recorded_at, believed_at, superseded_at, importance, session_id, source, last_observed_at, updated_at)
select s.ns, pg_temp.uid('memory', s.ns, n), 'line ' || n / 3, pg_temp.uid('lineage', s.ns, n / 3), 1 + n % 3, 'text ' || n, sha256(n::text::bytea),
       'work/c' || n % 500, array['t' || n % 20], (n % 4)::smallint, t.at, case when n % 3 < 2 then t.at + interval '5000 seconds' end, t.at, t.at,
       case when n % 3 < 2 then t.at + interval '5000 seconds' end, (n % 100) / 100.0, 's' || n % 1000, 'user', t.at, t.at
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral (select timestamptz '2025-01-01' + n * interval '5000 seconds' as at) t;
insert into loci_data.lineages (namespace_id, lineage, id, versions)
select namespace_id, lineage, lineage_id, count(*) from loci_data.memories m join size s on s.ns = m.namespace_id group by 1, 2, 3;
-- Each lineage stands under one of a hundred, these under one of ten, as the closure has it.
insert into loci_data.memory_placements (namespace_id, node_id, parent_id, valid_from, recorded_at)
select s.ns, pg_temp.uid('lineage', s.ns, n), pg_temp.uid('lineage', s.ns, n % 100), timestamptz '2025-01-01', timestamptz '2025-01-01'
from size s cross join lateral generate_series(100, s.rows / 3) n;
insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth, valid_from, recorded_at)
select s.ns, pg_temp.uid('lineage', s.ns, d.above), pg_temp.uid('lineage', s.ns, n), d.depth, timestamptz '2025-01-01', timestamptz '2025-01-01'
from size s cross join lateral generate_series(100, s.rows / 3) n cross join lateral (values (1, n % 100), (2, 200 + n % 10), (3, 300)) d(depth, above)
where d.above <> n;

insert into loci_data.entities (namespace_id, id, name, canonical_name, type, mentions, first_seen_at, created_at, updated_at)
select s.ns, pg_temp.uid('entity', s.ns, n), 'Thing ' || n, 'thing ' || n, case when n % 5 = 0 then 'person' else 'extracted' end, n % 50, t.at, t.at, t.at
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral (select timestamptz '2025-01-01' + n * interval '5000 seconds' as at) t;
insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name)
select s.ns, pg_temp.uid('aspect', s.ns, n), pg_temp.uid('entity', s.ns, n), 'Habits', 'habits' from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.attributes (namespace_id, id, aspect_id, entity_id, kind, content, status, memory_id, importance, valid_from)
select s.ns, pg_temp.uid('attribute', s.ns, n), pg_temp.uid('aspect', s.ns, n / 2), pg_temp.uid('entity', s.ns, n / 2),
       case n % 2 when 0 then 'attribute' else 'constraint' end, 'fact ' || n, 'active', pg_temp.uid('memory', s.ns, n / 2), 0.5, timestamptz '2025-01-01'
from size s cross join lateral generate_series(0, 2 * s.rows - 1) n;
insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, origin, status, created_at)
select s.ns, pg_temp.uid('supersession', s.ns, n), pg_temp.uid('attribute', s.ns, n), pg_temp.uid('attribute', s.ns, n + 1), 'value_conflict', 0.9, 'inline',
       case when n % 50 = 0 then 'proposed' else 'applied' end, timestamptz '2025-01-01' + n * interval '5000 seconds'
from size s cross join lateral generate_series(0, s.rows - 1) n;
-- Two edges an entity; one in four has faded.
insert into loci_data.edges (namespace_id, id, source_id, type, target_id, confidence, initial_confidence, strength, first_observed_at, last_observed_at,
                             restored_at, fades_at, valid_from, recorded_at, updated_at)
select s.ns, pg_temp.uid('edge', s.ns, n), pg_temp.uid('entity', s.ns, n / 2), 'type' || n % 20, pg_temp.uid('entity', s.ns, n % s.rows), 0.8, 0.8, 0.5,
       t.at, t.at, t.at, case when n % 4 = 0 then timestamptz '2026-01-01' else timestamptz '2030-01-01' + n * interval '5000 seconds' end, t.at, t.at, t.at
from size s cross join lateral generate_series(0, 2 * s.rows - 1) n cross join lateral (select timestamptz '2025-01-01' + n * interval '2 minutes' as at) t;

-- What edges rest on, what was said, which memory names what, and links between memories.
insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at, confidence, reinforcement, recorded_at, operation_id)
select s.ns, pg_temp.uid('observation', s.ns, n), pg_temp.uid('edge', s.ns, n), pg_temp.uid('memory', s.ns, n), 's' || n % 1000, t.at, 0.8, 'full', t.at,
       pg_temp.uid('operation', s.ns, n)
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral (select timestamptz '2025-01-01' + n * interval '5000 seconds' as at) t;
insert into loci_data.conversation_turns (namespace_id, session_id, agent_id, role, content, said_at, logged)
select s.ns, 's' || n % 1000, gen_random_uuid(), case n % 2 when 0 then 'user' else 'assistant' end, 'turn ' || n, timestamptz '2025-01-01' + n * interval '5000 seconds', n % 10 = 0
from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.memory_mentions (namespace_id, memory_id, entity_id, mention_text)
select s.ns, pg_temp.uid('memory', s.ns, n), pg_temp.uid('entity', s.ns, (n + e) % s.rows), 'Thing'
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral generate_series(0, 1) e;
insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
select s.ns, pg_temp.uid('lineage', s.ns, n), pg_temp.uid('lineage', s.ns, n + 1), 'about', 0.5, timestamptz '2025-01-01'
from size s cross join lateral generate_series(0, s.rows / 3) n;

insert into loci_data.recalls (namespace_id, id, at, agent_id, session_id, query, arms, fusion, k, results, took_ms)
select s.ns, pg_temp.uid('recall', s.ns, n), timestamptz '2025-01-01' + n * interval '5000 seconds', gen_random_uuid(), 's' || n % 1000, 'question ' || n,
       array['lexical'], 'rrf', 10, 2, 3 from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.recall_results (namespace_id, recall_id, rank, memory_id, score, arms)
select s.ns, pg_temp.uid('recall', s.ns, n), r, pg_temp.uid('memory', s.ns, n), 1.0 / r, '{"lexical": {"rank": 1}}'
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral generate_series(1, 2) r;
insert into loci_data.injections (namespace_id, session_id, memory_id, agent_id, injected_at)
select s.ns, 's' || n % 1000, pg_temp.uid('memory', s.ns, n), gen_random_uuid(), timestamptz '2026-01-01' + n * interval '5000 seconds'
from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.feedback_events (namespace_id, id, at, agent_id, session_id, kind, aspects, confirmations, change)
select s.ns, pg_temp.uid('feedback', s.ns, n), timestamptz '2025-01-01' + n * interval '5000 seconds', gen_random_uuid(), 's' || n % 1000, 'confirmation', 1, 1, 0.1
from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.working_memory (namespace_id, key, space, agent_id, value, stored_at, expires_at)
select s.ns, 'space/' || n % 100 || '/' || n, 'space/' || n % 100, gen_random_uuid(), '1', timestamptz '2026-01-01', timestamptz '2100-01-01'
from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.operations (namespace_id, id, action, via, started_at)
select s.ns, pg_temp.uid('operation', s.ns, n), 'write', 'rest', timestamptz '2025-01-01' + n * interval '5000 seconds' from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.operation_counts (namespace_id, operation_id, kind, action, count)
select s.ns, pg_temp.uid('operation', s.ns, n), 'memory', 'created', 1 from size s cross join lateral generate_series(0, s.rows - 1) n;
-- Four times as many changes: of fewer, the planner reads all of a namespace.
insert into loci_data.changes (namespace_id, position, place, operation_id, kind, action, subject_id, after, changed_at)
select s.ns, n + 1, 3 * n + s.ns % 3, pg_temp.uid('operation', s.ns, n), 'memory', 'created', pg_temp.uid('memory', s.ns, n), '{}', timestamptz '2025-01-01' + n * interval '1250 seconds'
from size s cross join lateral generate_series(0, 4 * s.rows - 1) n;

-- Jobs that are over, each with the report of a pass and a call of a model; and what was said about the agent's work.
insert into loci_data.jobs (namespace_id, id, kind, state, tries, created_at, finished_at)
select s.ns, pg_temp.uid('job', s.ns, n), case when n % 2 = 0 then 'dream' else 'enrich' end, case when n % 100 = 0 then 'dead' else 'succeeded' end, 1, t.at, t.at
from size s cross join lateral generate_series(0, s.rows - 1) n cross join lateral (select timestamptz '2025-01-01' + n * interval '5000 seconds' as at) t;
insert into loci_data.pass_runs (namespace_id, id, job_id, pass, outcome, operation_id, started_at)
select s.ns, pg_temp.uid('run', s.ns, n), pg_temp.uid('job', s.ns, n), case when n % 2 = 0 then 'memories' else 'enrichment' end, 'applied',
       pg_temp.uid('operation', s.ns, n), timestamptz '2025-01-01' + n * interval '5000 seconds' from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.model_calls (namespace_id, id, job_id, purpose, model, state, started_at, took_ms, prompt_tokens, completion_tokens, usual_tokens, usual_cost,
                                  ends_by)
select s.ns, pg_temp.uid('call', s.ns, n), pg_temp.uid('job', s.ns, n), 'memories', 'demo', 'succeeded', timestamptz '2025-01-01' + n * interval '5000 seconds', 900, 100, 10, 10,
       0, timestamptz '2026-01-01'
from size s cross join lateral generate_series(0, s.rows - 1) n;
insert into loci_data.feedback_signals (namespace_id, id, kind, content, session_id, memory_id, at)
select s.ns, pg_temp.uid('signal', s.ns, n), 'correction', 'not so ' || n, 's' || n % 1000, pg_temp.uid('memory', s.ns, n), timestamptz '2025-01-01' + n * interval '5000 seconds'
from size s cross join lateral generate_series(0, s.rows - 1) n;
