"""Models: embedding models, vectors and re-embedding; calls of language models and their budget."""
