"""Embedding models."""

from loci.operations import operation
from loci.requests import Request, get
from service.schemas_embeddings import EmbeddingModels


class Embeddings:
    """What makes vectors."""

    @operation
    def list_models(self) -> Request[EmbeddingModels]:
        """Embedding models: the active one, one that is being filled behind it, and those of before."""
        return get(EmbeddingModels, "/embeddings/models")
