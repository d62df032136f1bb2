"""Vectors of what the worker claimed: of a text, and of a turn with more weight on what it says itself."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from service.embedding.provider import Provider, Vectors, normalise_rows

SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")  # noqa: RUF001
MOST_SENTENCES = 50  # sentences of one turn


def split_sentences(text: str) -> list[str]:
    """Sentences of a text, at most 50."""
    return [part for part in map(str.strip, SENTENCE.split(text)) if part][:MOST_SENTENCES]


async def embed_claimed_rows(provider: Provider, claimed: Sequence[Mapping[str, Any]]) -> Vectors:
    """A vector for each claimed row: of its `text`, which says who said it and what.

    A model with `focus` adds so much of the mean of the sentences that were `said`, each under the `speaker`'s name.
    """
    texts = [row["text"] for row in claimed]
    owners: list[int] = []
    for place, row in enumerate(claimed):
        if provider.focus > 0 and row.get("said"):
            own = split_sentences(row["said"])
            texts += [f"{row['speaker']}: {sentence}" if row["speaker"] else sentence for sentence in own]
            owners += [place] * len(own)
    vectors = await provider.embed(texts)
    whole = vectors[: len(claimed)]
    if not owners:
        return whole
    sums = np.zeros_like(whole)
    np.add.at(sums, owners, vectors[len(claimed) :])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means = sums / np.where(lengths > 0, lengths, 1)
    return normalise_rows((whole + provider.focus * means).astype(np.float32))
