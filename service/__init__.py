"""Loci's service: REST, command line, rank fusion, embeddings and the worker. Thin over db and sql."""
