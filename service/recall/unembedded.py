"""Memories whose vectors are not there yet, in the answer of a recall.

The worker makes vectors behind the writes, so a fresh memory is missing from the vector arm, and stale ones would come before it.
The newest are embedded with the question and take the places that they will have. An endpoint
elsewhere is not asked for that, because a connection to the database would wait for it: of these memories, and of others that
wait, those that have the question's words take the same rank by meaning as by words.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from db.recall.search import Found, Hits
from service.embedding.active_model import ActiveModel
from service.embedding.claimed_rows import embed_claimed_rows
from service.embedding.provider import EmbeddingError, Provider
from service.recall.fusion import order_by_score
from service.recall.sources import unpack_hit
from service.recall.timing import time_phase

ENDPOINT = "openai/"


async def include_unembedded(found: Found, used: ActiveModel, depth: int) -> None:
    """Give memories that wait for their vectors their places in the vector arm. `depth`: how many hits an arm has."""
    if not found.questions or not found.waiting or "vector" not in found.arms:
        return
    hits = found.arms["vector"]
    places = {**hits.scores, **await _question_cosines(found, used)}
    scores = {key: places[key] for key in order_by_score(places)}
    lexical = found.arms["lexical"].scores if "lexical" in found.arms else {}
    scores = _placed_by_words(scores, lexical, {row["doc_id"] for row in found.waiting})
    found.arms["vector"] = Hits(dict(list(scores.items())[:depth]), hits.paths)
    found.waited = {row["doc_id"] for row in found.waiting} & set(found.arms["vector"].scores)


async def _question_cosines(found: Found, used: ActiveModel) -> dict[int, float]:
    """Cosines of what may be embedded here; none where the model says no."""
    rows = [row for row in found.waiting if row.get("text") and _find_namespace_place(row) in found.questions]
    if not rows or (provider := _at_hand(found, used)) is None:
        return {}
    try:
        with time_phase("embed"):
            vectors = await embed_claimed_rows(provider, rows)
    except EmbeddingError:
        return {}
    units = {place: vector / (float(np.linalg.norm(vector)) or 1.0) for place, vector in found.questions.items()}
    return {row["doc_id"]: float(vector @ units[_find_namespace_place(row)]) for row, vector in zip(rows, vectors, strict=True)}


def _find_namespace_place(row: Mapping[str, Any]) -> int:
    """Place of the namespace of a memory that waits."""
    return unpack_hit(row["doc_id"])[0]


def _at_hand(found: Found, used: ActiveModel) -> Provider | None:
    """The embedder of the active model in this process."""
    if used.provider is None or used.provider.name.startswith(ENDPOINT) or used.model not in (None, found.model):
        return None
    return used.provider


def _placed_by_words(scores: dict[int, float], lexical: Iterable[int], waiting: set[int]) -> dict[int, float]:
    """Scores, best first, with those that wait at the rank that they have by words, and the score of what stood there."""
    order = list(scores.items())
    for rank, key in enumerate(lexical):
        if key in waiting and key not in scores:
            there = order[min(rank, len(order) - 1)][1] if order else 0.0
            order.insert(rank, (key, there))
    return dict(order)
