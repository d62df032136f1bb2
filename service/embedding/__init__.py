"""Embedding providers: texts in, unit vectors out."""
