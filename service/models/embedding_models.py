"""Embedding models: which one serves, how far another is that is to take its place, and how much there is to embed."""

import math
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from db.models import reembedding, second_model
from db.models.reembedding import IndexBuilder, ModelInUse
from db.pool import JsonObject, Transaction
from service.embedding.provider import Provider

SAMPLE = 64  # texts that are embedded to measure a provider


@dataclass(frozen=True)
class Corpus:
    """Counts of what waits to be embedded, and the models in use by state (active, second, filling)."""

    memories: int
    entities: int
    models: dict[str, ModelInUse]

    @property
    def vector_count(self) -> int:
        """Vectors that a model needs for all of it."""
        return self.memories + self.entities


async def list_embedding_models(tx: Transaction) -> JsonObject:
    """All models, the active one first, with what waits for each in the namespaces that the caller may read."""
    return {"items": await reembedding.list_embedding_models(tx)}


async def read_corpus(tx: Transaction) -> Corpus:
    """How much there is to embed over all namespaces, and for which models."""
    rows = {row["state"]: row for row in await reembedding.embedding_models_in_use(tx)}
    return Corpus(**await reembedding.corpus_size(tx), models=rows)


async def sample_texts(tx: Transaction) -> list[str]:
    """A few texts of the corpus, to measure a provider with."""
    return await reembedding.sample_texts(tx, limit=SAMPLE)


async def estimate_seconds(provider: Provider, texts: list[str], corpus: Corpus, *, parallel: int) -> int:
    """How long the provider would take for the corpus, by a few of its texts."""
    started = time.perf_counter()
    if texts:
        await provider.embed(texts)
    each = (time.perf_counter() - started) / max(len(texts), 1)
    return math.ceil(each * corpus.vector_count / parallel)


async def cancel_reembedding(tx: Transaction) -> str | None:
    """Stop filling; the name of the model."""
    return await reembedding.cancel_reembedding(tx)


async def retire_second_model(tx: Transaction) -> str | None:
    """Ask the second model no more; its name."""
    return await second_model.retire(tx)


def connect_index_builder(url: str) -> AbstractAsyncContextManager[IndexBuilder]:
    """Connect as who may build and drop indexes while others write."""
    return reembedding.connect_index_builder(url)
