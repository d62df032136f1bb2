"""Working memory: wrappers of the SQL functions. `space` is the space that the caller declared, if any."""

from typing import Any

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def save_working_memory(
    tx: Transaction,
    *,
    key: str,
    value: Any,
    ttl_seconds: float | None = None,
    category: str | None = None,
    tags: list[str] | None = None,
    space: str | None = None,
) -> Row:
    """Write an entry, or replace it; the entry without its value."""
    return await tx.row(
        """select * from loci_api.save_working_memory(%(namespace)s, %(key)s, %(value)s, %(ttl_seconds)s::double precision,
           %(category)s, %(tags)s::text[], %(space)s)""",
        key=key,
        value=Jsonb(value),
        ttl_seconds=ttl_seconds,
        category=category,
        tags=tags,
        space=space,
    )


async def get_working_memory(tx: Transaction, *, key: str, space: str | None = None) -> Row:
    """An entry that has not expired."""
    return await tx.row("select * from loci.get_working_memory(%(namespace)s, %(key)s, %(space)s)", key=key, space=space)


async def list_working_memory(
    tx: Transaction, *, prefix: str | None = None, limit: int = 50, cursor: str | None = None, space: str | None = None
) -> list[Row]:
    """Entries under a prefix of whole segments, without values, in order of the key."""
    return await tx.rows(
        "select * from loci.list_working_memory(%(namespace)s, %(prefix)s, %(limit)s, %(cursor)s, %(space)s)",
        prefix=prefix,
        limit=limit,
        cursor=cursor,
        space=space,
    )


async def search_working_memory(
    tx: Transaction,
    *,
    query: str | None = None,
    category: str | None = None,
    tags: list[str] | None = None,
    prefix: str | None = None,
    limit: int = 10,
    space: str | None = None,
) -> list[Row]:
    """Entries by words, best first; without a query newest first, and without a score."""
    return await tx.rows(
        """select * from loci.search_working_memory(%(namespace)s, %(query)s, %(category)s, %(tags)s::text[], %(prefix)s, %(limit)s,
           %(space)s)""",
        query=query,
        category=category,
        tags=tags,
        prefix=prefix,
        limit=limit,
        space=space,
    )


async def delete_working_memory(tx: Transaction, *, key: str, space: str | None = None) -> Row:
    """Delete an entry: its full key, and whether there was a live one (`deleted`)."""
    return await tx.row("select * from loci_api.delete_working_memory(%(namespace)s, %(key)s, %(space)s)", key=key, space=space)


async def sweep_working_memory(tx: Transaction, *, after: tuple[int, str]) -> tuple[int, tuple[int, str] | None]:
    """Delete what has expired among the next entries after a namespace's number and a key; how many, and where to go on."""
    row = await tx.row(
        "select swept, next_id, next_key from loci_api.sweep_working_memory(5000, %(after_id)s, %(after_key)s)",
        after_id=after[0],
        after_key=after[1],
    )
    return int(row["swept"]), None if row["next_id"] is None else (row["next_id"], row["next_key"])
