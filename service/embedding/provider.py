"""A provider of embeddings, and how the configured one is made."""

import asyncio
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
THREAD_CHARACTERS = 2000  # characters of a text that is read in another thread: one of fewer takes half a millisecond


@dataclass(frozen=True)
class Words:
    """A question word by word: each different word and the sum of its vectors, shape (len(words), dimensions).

    The part of the vector without a word has the empty word as its key. The database weighs words by their rarity.
    """

    words: list[str]
    vectors: Vectors


class EmbeddingError(Exception):
    """The provider could not embed now; the same texts may succeed later."""


class RejectedText(EmbeddingError):
    """The provider refused these texts for good."""


class Provider(Protocol):
    """A source of embeddings. `name` identifies the model in the database.

    `weight`: how much the vector arm counts with this model, times the setting. `focus`: how much the mean of a turn's own
    sentences counts beside the turn with those before it; 0 for none. Both are measured: docs/design/recall.md.
    """

    @property
    def name(self) -> str:
        """Name of the model."""

    @property
    def weight(self) -> float:
        """How much its arm counts."""

    @property
    def focus(self) -> float:
        """How much a turn's own sentences count."""

    async def dimensions(self) -> int:
        """Length of its vectors. Raises EmbeddingError when it cannot be known now."""

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed texts: float32, shape (len(texts), dimensions), rows of length 1. Raises EmbeddingError."""

    async def close(self) -> None:
        """Release what it holds."""


@runtime_checkable
class WordProvider(Protocol):
    """A provider whose vectors are sums over words, so that those of a question can be weighed apart."""

    def words(self, text: str) -> Words | None:
        """The words of a question with their vectors; None where it has too many, or the model has no such vectors."""


@runtime_checkable
class QuestionProvider(Protocol):
    """A provider whose model is told that a text asks, and is not asked about."""

    async def embed_questions(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed questions, as `embed` does passages. Raises EmbeddingError."""


async def embed_questions(provider: Provider, texts: list[str], *, timeout: float | None = None) -> Vectors:
    """Embed questions: as such, where the model tells them from passages. Raises EmbeddingError."""
    embed = provider.embed_questions if isinstance(provider, QuestionProvider) else provider.embed
    return await embed(texts, timeout=timeout)


async def question_words(provider: Provider, text: str) -> Words | None:
    """The words of a question, where the provider can tell them apart; of a long one in another thread."""
    if not isinstance(provider, WordProvider):
        return None
    return provider.words(text) if len(text) < THREAD_CHARACTERS else await asyncio.to_thread(provider.words, text)


def normalise_rows(vectors: Vectors) -> Vectors:
    """Scale rows to length 1; a row of zeros (no known word) becomes the first unit vector, so that it has a direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    empty = ~(lengths[:, 0] > 0)
    scaled: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    scaled[empty, 0] = 1
    return scaled
