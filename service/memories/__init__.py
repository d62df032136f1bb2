"""Memories: versions, lineages, duplicates, links, categories, batches, forgetting, erasure."""
