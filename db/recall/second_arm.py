"""Search by the second embedding model: a statement of its own, sent where one is configured."""

from typing import TypedDict

from db.pipeline import Sent
from db.pool import Transaction
from db.recall.search import Embedded, Scope, embedded_parameters


class SecondArmRow(TypedDict):
    """Document numbers and cosines, best first, their mean over the namespace, and memories that have no vector of it yet."""

    ids: list[int] | None
    scores: list[float] | None
    mean: float | None
    missing: list[int]
    took_ms: float


async def send_second_arm(tx: Transaction, *, model: int, embedding: Embedded, scope: Scope) -> Sent[SecondArmRow]:
    """Ask for the memories nearest to a question; no row where the model takes no part in the namespace."""
    return await tx.send(
        SecondArmRow,
        """select * from loci_api.recall_second_arm(%(namespace)s, %(model)s::smallint, %(embedding)b::vector::real[],
           %(filters)s, %(as_of)s, %(known_at)s, %(words)s::text[], %(word_vectors)b::vector[])""",
        model=model,
        **embedded_parameters(embedding),
        **scope.to_parameters(),
    )
