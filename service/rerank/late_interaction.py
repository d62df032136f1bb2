"""Late interaction (ColBERT: Khattab and Zaharia, SIGIR 2020): each piece of a question finds its nearest in a text.

Pieces count by how rare they are among the texts that are judged (the logarithm of an inverse frequency), so that no list of common
words is needed. Pure functions over arrays.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pieces:
    """Pieces of words of a text: their numbers, and a unit vector of each in its context."""

    ids: NDArray[np.int32]
    vectors: NDArray[np.float16]


def interactions(question: Pieces, texts: Sequence[Pieces]) -> list[float]:
    """For each text the mean, over the pieces of the question, of the best cosine there, weighted by their rarity."""
    if not len(question.ids) or not texts:
        return [0.0] * len(texts)
    having = Counter(piece for text in texts for piece in set(text.ids.tolist()))
    weights = np.log1p([len(texts) / (1 + having[piece]) for piece in question.ids.tolist()])
    weights /= weights.sum()
    asked = question.vectors.astype(np.float32)
    best = ((asked @ text.vectors.astype(np.float32).T).max(axis=1) if len(text.ids) else np.zeros(len(asked)) for text in texts)
    return [float(weights @ found) for found in best]
