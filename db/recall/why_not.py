"""One memory under the eyes of a recall: a wrapper of the SQL function."""

from typing import TypedDict
from uuid import UUID

from db.pool import JsonObject, Transaction
from db.recall.search import Embedded, Scope, embedded_parameters


class ExaminedMemory(TypedDict):
    """A memory's status, times and filters in a recall, and what it shares with the question."""

    id: UUID
    doc_id: int
    lineage: str | None
    content: str
    checks: list[JsonObject]
    covered: float | None
    similarity: float | None
    vector: str | None
    named: int
    mentioned: list[str] | None
    instead: UUID | None


async def examine_memory(tx: Transaction, *, memory: str, query: str, embedding: Embedded | None, scope: Scope) -> ExaminedMemory:
    """Check one memory, by its id or the name of its lineage, against a question and its scope."""
    return await tx.row(
        ExaminedMemory,
        """select * from loci_api.examine_memory(%(namespace)s, %(memory)s, %(query)s, %(embedding)s::vector::real[],
           %(filters)s, %(as_of)s, %(known_at)s, %(words)s::text[], %(word_vectors)s::vector[])""",
        memory=memory,
        query=query,
        **embedded_parameters(embedding),
        **scope.to_parameters(),
    )
