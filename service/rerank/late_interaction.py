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


@dataclass(frozen=True)
class Pieces:
    """Pieces of words of a text: their numbers, and a unit vector of each in its context."""

    ids: NDArray[np.int32]
    vectors: NDArray[np.float16]


def interactions(question: Pieces, texts: Sequence[Pieces], before: Sequence[Pieces | None] | None = None) -> list[float]:
    """For each text the mean, over the pieces of the question, of the best cosine there, weighted by their rarity.

    `before`: what was said before each, None where nothing was.
    """
    if not len(question.ids) or not texts:
        return [0.0] * len(texts)
    having = Counter(piece for text in texts for piece in set(text.ids.tolist()))
    weights = np.log1p([len(texts) / (1 + having[piece]) for piece in question.ids.tolist()])
    weights /= weights.sum()
    asked = question.vectors.astype(np.float32)

    def nearest(text: Pieces | None) -> NDArray[np.float32]:
        if text is None or not len(text.ids):
            return np.zeros(len(asked), dtype=np.float32)
        found: NDArray[np.float32] = (asked @ text.vectors.astype(np.float32).T).max(axis=1)
        return found.clip(min=0)

    earlier = before or [None] * len(texts)
    pairs = zip(texts, earlier, strict=True)
    return [float(weights @ np.maximum(nearest(text), BEFORE * nearest(turn))) for text, turn in pairs]
