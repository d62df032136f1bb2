"""Embedding providers: texts in, unit vectors out (row L1)."""

from service.embedding.provider import EmbeddingError, Provider, RejectedText, make_provider

__all__ = ["EmbeddingError", "Provider", "RejectedText", "make_provider"]
