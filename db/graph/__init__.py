"""The graph: entities, names found in texts, edges and their decay, merges, traversal."""
