"""The change feed (row X4): wrappers of the SQL functions, and the notices that wake its readers."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import psycopg

from db.pool import Transaction

Row = dict[str, Any]


async def sequence_changes(tx: Transaction, *, limit: int = 10_000) -> int:
    """Give committed changes their positions in the feed, and wake its readers; how many."""
    row = await tx.row("select moved from loci.sequence_changes(%(limit)s)", limit=limit)
    moved: int = row["moved"]
    return moved


async def send_sequencing(tx: Transaction) -> None:
    """Have positions given to what is committed, without waiting: the statements after it see them."""
    await tx.send("select moved from loci.sequence_changes()")


async def send_bounds(tx: Transaction, *, namespaces: list[str] | None) -> Any:
    """Ask from where to where the feed reaches: {kept_after, last_position, namespace_ids}, to be fetched."""
    return await tx.send("select * from loci.feed_bounds(%(namespaces)s::text[])", namespaces=namespaces)


async def list_changes(
    tx: Transaction, *, namespaces: list[str] | None, after: int, kinds: list[str] | None, limit: int
) -> list[Row]:
    """Changes after a position, oldest first; `more` of each says whether the page ended early."""
    return await tx.rows(
        "select * from loci.list_changes(%(namespaces)s::text[], %(after)s::bigint, %(kinds)s::text[], %(limit)s)",
        namespaces=namespaces,
        after=after,
        kinds=kinds,
        limit=limit,
    )


async def listen(url: str, *, every: float) -> AsyncGenerator[frozenset[int] | None]:
    """Ids of namespaces whose feed has grown, as it happens, on a connection of its own; None: it may be any.

    None comes first, once nothing is missed any more; an empty set comes every so many seconds. Raises psycopg.Error when the
    connection is lost.
    """
    connection = await psycopg.AsyncConnection.connect(
        url,
        autocommit=True,
        application_name="loci feed",
        connect_timeout=5,
        keepalives_idle=30,  # a dead peer is noticed within a minute
        keepalives_interval=10,
        keepalives_count=3,
    )
    async with connection:
        await connection.execute("listen loci_changes")
        yield None
        while True:
            async with aclosing(connection.notifies(timeout=every)) as notices:
                async for notice in notices:
                    yield _named(notice.payload)
            yield frozenset()


def _named(payload: str) -> frozenset[int] | None:
    """Ids in a notice; None for one that says something else, which any login can send."""
    try:
        return frozenset(map(int, json.loads(payload)["namespaces"]))
    except (ValueError, TypeError, KeyError):
        return None
