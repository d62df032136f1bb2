"""The graph: entities, edges and their decay, merges and splits, traversal."""
