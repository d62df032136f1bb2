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
    'rrf_k', 5,                     -- reciprocal rank fusion; measured, see docs/decisions
    'depth', 100,                   -- results an arm hands to fusion
    'weights', jsonb_build_object('lexical', 1.5, 'vector', 1.0, 'graph', 1.0, 'names', 2.0, 'hierarchy', 0.75)
);
comment on function loci.default_settings() is 'Settings of a namespace and their defaults.';
