"""The log of recalls, and what was said of their results later: wrappers of the SQL functions."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def log_recall(tx: Transaction, *, recall: Row, results: list[Row]) -> None:
    """Send a recall and the memories in its answer to the log, without waiting."""
    await tx.send(
        "select loci_api.log_recall(%(namespace)s, %(recall)s, %(results)s)", recall=Jsonb(recall), results=Jsonb(results)
    )


async def list_recalls(tx: Transaction, *, session_id: str | None, limit: int, cursor: str | None) -> list[Row]:
    """Logged recalls, newest first."""
    return await tx.rows(
        "select * from loci.list_recalls(%(namespace)s, %(session_id)s, %(limit)s, %(cursor)s)",
        session_id=session_id,
        limit=limit,
        cursor=cursor,
    )


async def get_recall(tx: Transaction, *, id: UUID) -> Row:
    """A logged recall with the memories in its answer."""
    return await tx.row("select * from loci.get_recall(%(namespace)s, %(id)s)", id=id)


async def rate_recall(tx: Transaction, *, recall_id: UUID | None, ratings: list[Row]) -> list[UUID]:
    """Say of results {memory_id, useful, note?} whether they were of use; the memories rated."""
    rows = await tx.rows(
        "select memory_id from loci_api.rate_recall(%(namespace)s, %(recall_id)s, %(ratings)s) order by memory_id",
        recall_id=recall_id,
        ratings=Jsonb(ratings),
    )
    return [row["memory_id"] for row in rows]


async def delete_recall(tx: Transaction, *, id: UUID) -> None:
    """Take a recall out of the log."""
    await tx.row("select loci_api.delete_recall(%(namespace)s, %(id)s)", id=id)
