"""The walk over aspects and strong edges, and the graph as a picture: wrappers of the SQL functions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from db.pool import Transaction

Row = dict[str, Any]


async def walk(
    tx: Transaction,
    *,
    query: str | None,
    project_path: str | None,
    checkpoint: list[UUID] | None,
    session_key: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    attributes: bool,
) -> Row:
    """What to know about the focal entities of a conversation, within the deadline."""
    return await tx.row(
        """select * from loci.walk(%(namespace)s, %(query)s, %(project_path)s, %(checkpoint)s::uuid[], %(session_key)s,
           %(as_of)s, %(known_at)s, %(attributes)s)""",
        query=query,
        project_path=project_path,
        checkpoint=checkpoint,
        session_key=session_key,
        as_of=as_of,
        known_at=known_at,
        attributes=attributes,
    )


async def constellation(tx: Transaction, *, limit: int | None, as_of: datetime | None, known_at: datetime | None) -> Row:
    """The entities that stand out, their aspects, and the edges between them."""
    return await tx.row(
        "select * from loci.constellation(%(namespace)s, %(limit)s, %(as_of)s, %(known_at)s)",
        limit=limit,
        as_of=as_of,
        known_at=known_at,
    )
