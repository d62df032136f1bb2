"""The arms of recall: each returns memory ids with scores, best first. They are sent without waiting and fetched later."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


@dataclass(frozen=True)
class Scope:
    """What every arm is restricted to before it ranks: filters, valid time, recorded time (None: now)."""

    filters: Row
    as_of: datetime | None = None
    known_at: datetime | None = None

    def parameters(self) -> Row:
        """Statement parameters of the scope."""
        return {"filters": Jsonb(self.filters), "as_of": self.as_of, "known_at": self.known_at}


async def search_text(tx: Transaction, *, query: str, limit: int | None, scope: Scope) -> Any:
    """Lexical arm: rows (id, score), exact BM25."""
    return await tx.send(
        "select id, score from loci.search_text(%(namespace)s, %(query)s, %(limit)s, %(filters)s, %(as_of)s, %(known_at)s)",
        query=query,
        limit=limit,
        **scope.parameters(),
    )


async def similar_memories(tx: Transaction, *, embedding: list[float], limit: int | None, scope: Scope) -> Any:
    """Vector arm: rows (id, score), cosine similarity."""
    return await tx.send(
        """select id, score from loci.similar_memories(%(namespace)s, %(embedding)s::real[], %(limit)s, %(filters)s, %(as_of)s,
           %(known_at)s)""",
        embedding=embedding,
        limit=limit,
        **scope.parameters(),
    )


async def related_memories(tx: Transaction, *, ids: list[UUID], limit: int | None, scope: Scope) -> Any:
    """Hierarchy arm: rows (id, score, seed_id, relation) around the seeds, given best first."""
    return await tx.send(
        """select id, score, seed_id, relation from loci.related_memories(%(namespace)s, %(ids)s::uuid[], %(limit)s, %(filters)s,
           %(as_of)s, %(known_at)s)""",
        ids=ids,
        limit=limit,
        **scope.parameters(),
    )


async def neighbour_memories(tx: Transaction, *, ids: list[UUID], scope: Scope) -> Any:
    """Rows (id, neighbour_id, distance): who stands one and two turns away in the same session."""
    return await tx.send(
        """select id, neighbour_id, distance from loci.neighbour_memories(%(namespace)s, %(ids)s::uuid[], %(filters)s, %(as_of)s,
           %(known_at)s)""",
        ids=ids,
        **scope.parameters(),
    )
