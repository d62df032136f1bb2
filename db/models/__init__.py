"""Models: embedding models and their queues, re-embedding, calls of language models."""
