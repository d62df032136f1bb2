"""Late interaction (ColBERT: Khattab and Zaharia, SIGIR 2020): each piece of a question finds its nearest in a text.

Pieces count by how rare they are among the texts that are judged (the logarithm of an inverse frequency), so that no list of common
words is needed. A piece may also find its nearest in what was said just before a text: an answer seldom repeats its question. Pure
functions over arrays.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BEFORE = 0.9  # what a cosine with the turn before a text counts; measured: docs/design/relevance.md
NUMBER = np.dtype("<u2")  # of a piece, as it is kept


@dataclass(frozen=True)
class Pieces:
    """Pieces of words of a text: their numbers, and a vector of each in its context, of which only the direction counts."""

    ids: NDArray[np.int32]
    vectors: NDArray[np.int8]

    @classmethod
    def quantise_pieces(cls, ids: NDArray[np.int64], states: NDArray[np.float32]) -> "Pieces":
        """Pieces whose vectors have a byte a dimension, the largest of each ±127."""
        largest = np.abs(states).max(axis=1, keepdims=True, initial=1e-9)
        return cls(ids.astype(np.int32), np.rint(127 * states / largest).astype(np.int8))

    def pack_pieces(self) -> bytes:
        """As they are kept: the numbers, then the vectors."""
        return self.ids.astype(NUMBER).tobytes() + self.vectors.tobytes()

    @classmethod
    def unpack_pieces(cls, kept: bytes, dimensions: int) -> "Pieces":
        """The value that `pack_pieces` made."""
        count = len(kept) // (NUMBER.itemsize + dimensions)
        ids = np.frombuffer(kept, NUMBER, count).astype(np.int32)
        return cls(ids, np.frombuffer(kept, np.int8, count * dimensions, count * NUMBER.itemsize).reshape(count, dimensions))


def score_interactions(question: Pieces, texts: Sequence[Pieces], before: Sequence[Pieces | None] | None = None) -> list[float]:
    """For each text the mean, over the pieces of the question, of the best cosine there, weighted by their rarity.

    `before`: what was said before each, None where nothing was.
    """
    if not len(question.ids) or not texts:
        return [0.0] * len(texts)
    having = Counter(piece for text in texts for piece in set(text.ids.tolist()))
    weights = np.log1p([len(texts) / (1 + having[piece]) for piece in question.ids.tolist()])
    weights /= weights.sum()
    asked = _normalise_to_unit(question.vectors)

    def nearest_cosines(text: Pieces | None) -> NDArray[np.float32]:
        if text is None or not len(text.ids):
            return np.zeros(len(asked), dtype=np.float32)
        found: NDArray[np.float32] = (asked @ _normalise_to_unit(text.vectors).T).max(axis=1)
        return found.clip(min=0)

    earlier = before or [None] * len(texts)
    pairs = zip(texts, earlier, strict=True)
    return [float(weights @ np.maximum(nearest_cosines(text), BEFORE * nearest_cosines(turn))) for text, turn in pairs]


def _normalise_to_unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    floats = vectors.astype(np.float32)
    lengths: NDArray[np.float32] = np.sqrt((floats * floats).sum(axis=1, keepdims=True))
    floats /= np.maximum(lengths, np.float32(1e-9))
    return floats
