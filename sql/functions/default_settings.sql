-- Every threshold and cap that a namespace can set, with its default and its source (row G13).
create or replace function loci.default_settings() returns jsonb
language sql immutable parallel safe
return jsonb_build_object(
    'decay_rate', 0.01,             -- per day (seed C)
    'edge_threshold', 0.1,          -- effective confidence below which an edge is left out (seed C)
    'reinforcement', 'full',        -- full (seed C), initial, running_average (seed D)
    'max_hops', 2,                  -- traversal (seed A)
    'fan_out', 1000,                -- edges followed from one entity
    'traverse_ms', 250,             -- time budget of a traversal
    'context_triples', 15,          -- triples that a context shows (seed A)
    'match_length', 3,              -- characters; shorter names are not looked for in texts (seed A)
    'match_namesakes', 100,         -- entities found by one alias that they share
    'extracted_length', 4,          -- characters; shorter names are refused on the extraction path (seed D)
    'focal_projects', 5,            -- project entities that a project path makes focal (seed D)
    'focal_entities', 20,           -- entities that the tokens of a query make focal (seed D)
    'walk_aspects', 10,             -- aspects of an entity, by weight (seed D)
    'walk_attributes', 20,          -- attributes of an aspect, by importance (seed D)
    'walk_edges', 30,               -- outgoing edges of all focal entities, by strength (seed D)
    'walk_min_strength', 0.3,       -- of edges that a walk follows (seed D)
    'walk_ms', 500,                 -- deadline of a walk (seed D)
    'constellation_entities', 500,  -- entities of a constellation (seed D)
    'supersession', 'apply',        -- apply, propose (record without acting) or off (row S7)
    'shared_tokens', 2,             -- that two attributes must have in common to be compared (row S7)
    'supersession_threshold', 0.7,  -- confidence from which a signal acts (row S7)
    'supersession_candidates', 50,  -- siblings that one word leads to, newest first, when an attribute is written (row S7)
    'feedback_delta', 0.02,         -- weight of an aspect for each confirmation (row S6)
    'aspect_weight_min', 0.1,       -- floor of learned weights (seed D)
    'aspect_weight_max', 1.0,       -- ceiling of learned weights (seed D)
    'aspect_stale_days', 14,        -- days without confirmation after which an aspect loses weight (row S6)
    'aspect_decay', 0.005,          -- what it loses (row S6)
    'aspect_decay_sessions', 10     -- ended sessions of an agent between two such decays (row S6)
) || jsonb_build_object(  -- a function takes at most 100 arguments
    'working_memory_ttl', 300,      -- seconds that an entry lives unless the write says (seed B)
    'working_memory_entries', 50,   -- live entries of a space (seed B)
    'replayed_turns', 20,           -- turns of a conversation that are replayed (seed B)
    'searched_turns', 10000,        -- newest turns, of a session or of all, that a search of conversations reads
    'context_memories', 8,          -- memories that a context recalls (seed B)
    'context_first', 5,             -- memories that the first context of a session shows where nothing was found (seed B)
    'context_similarity', 0.5,      -- cosine from which a memory found by meaning alone enters a context (seed B)
    'context_keys', 100,            -- keys of an inventory of working memory in a context, newest first
    'recall_namespaces', 100,       -- namespaces that one recall spans (row R7)
    'retain_facts', 200,            -- facts of one text (row L3)
    'retain_duplicate', 0.5,        -- cosine from which a fact with the same words that matter is no new one; measured, decision 19
    'retain_related', 0.6,          -- cosine from which a fact is linked to another
    'retain_overlap', 0.5,          -- the same where there are no vectors: shared words, of all words of both
    'retain_links', 3,              -- such links of a fact
    'reflect_place', 0.4,           -- cosine from which a memory finds its place under a concept (row L3)
    'reflect_new', 2,               -- memories of a category from which reflect makes a concept for it
    'reflect_related', 0.7,         -- cosine from which reflect links memories
    'reflect_links', 3,             -- such links of a memory
    'change_days', 30,              -- days that the change feed keeps, and with it what operations changed
    'operation_days', 365,          -- days that the operations log keeps
    'log_working_memory', false,    -- whether working memory is in the change feed and the operations log
    'key_use_days', 90,             -- days that uses of API keys are kept, by hour and address
    'recall_log', false,            -- whether recalls are logged as rows (row R4)
    'recall_log_days', 30           -- days that they are kept
) || jsonb_build_object(
    'job_days', 30,                 -- days that jobs, reports of passes and calls of models are kept after their end
    'dream_schedule', '',           -- when the dream passes run: cron, five fields, UTC; empty: only when asked (row L4)
    'dream_memories', true,         -- whether a dream consolidates memories (seed B)
    'dream_entities', true,         -- whether it extracts entities from conversations (seed A)
    'dream_preferences', true,      -- whether it infers preferences (seed B)
    'dream_graph', true,            -- whether it cleans up the graph (seed A)
    'dream_limit', 1000,            -- memories, turns, entities that a pass looks at (seed B)
    'dream_signals', 50,            -- feedback signals that it looks at (seed B)
    'dream_signal_days', 7,         -- how old these may be (seed B)
    'signal_days', 90,              -- days that feedback signals are kept
    'dream_unchanged_days', 7,      -- days after which a pass asks again although nothing has changed (row L5)
    'dream_removed_share', 0.1,     -- share of a namespace that a pass may remove (row L5)
    'dream_entity_days', 30,        -- age in days from which an entity that nothing refers to may be removed
    'extracted_confidence', 0.9,    -- the most that a model's word is worth for a new edge
    'dream_busy_minutes', 5,        -- a scheduled dream waits while something was said or written so recently (row L4)
    'protected_importance', 0.8,    -- importance from which no pass removes a memory (row L5)
    'protected_observations', 5,    -- the same: how often it was reinforced
    'protected_confidence', 0.7,    -- confidence from which no pass removes an edge (row L5)
    'preference_strong', 1,         -- occurrences from which a preference is written: of strong corrections (seed B)
    'preference_mild', 2,           -- of gentle pushback
    'preference_minor', 3,          -- of casual suggestions
    'retain_model', true,           -- whether retain and reflect ask a model where one is configured (row L3)
    'enrich_model', true,           -- whether a model expands saved memories where the write asks for it (row L2)
    'supersession_model', 'off',    -- off, propose or apply: whether a model judges pairs on which all signals are silent (row S7)
    'supersession_model_pairs', 40, -- pairs that it is asked about at once
    'supersession_model_siblings', 5, -- siblings that a fact is compared with: those that share most words with it
    'model_tokens', 2000000,        -- that calls of models may use in a day, UTC; 0: any number
    'model_cost', 0,                -- that they may cost in a day, in the unit of the service's prices; 0: any
    'rrf_k', 5,                     -- reciprocal rank fusion; measured, see docs/decisions
    'depth', 100,                   -- results an arm hands to fusion
    'weights', jsonb_build_object('lexical', 1.5, 'vector', 1.0, 'graph', 1.0, 'names', 2.0, 'hierarchy', 0.75, 'walk', 0.5,
                                  'working_memory', 1.0, 'conversation', 1.0)
);
comment on function loci.default_settings() is 'Settings of a namespace and their defaults.';
