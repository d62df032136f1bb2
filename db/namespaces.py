"""Namespaces: wrappers of the SQL functions that make, change, list and verify them."""

from typing import Any

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def create_namespace(tx: Transaction, *, name: str, description: str | None, language: str, settings: Row) -> None:
    """Create a namespace. Operator only."""
    await tx.row(
        "select loci_api.create_namespace(%(name)s, %(description)s, %(language)s, %(settings)s)",
        name=name,
        description=description,
        language=language,
        settings=Jsonb(settings),
    )


async def list_namespaces(tx: Transaction, *, name: str | None = None, limit: int = 100, cursor: str | None = None) -> list[Row]:
    """Readable namespaces with role, settings and counts, by name; only `name` if given."""
    return await tx.rows(
        "select * from loci.list_namespaces(%(name)s, %(limit)s, %(cursor)s)", name=name, limit=limit, cursor=cursor
    )


async def update_namespace(tx: Transaction, *, changes: Row) -> bool:
    """Merge {description, settings} into the transaction's namespace; whether graph.fade_batch has edges to bring in step."""
    row = await tx.row("select loci_api.update_namespace(%(namespace)s, %(changes)s) as decaying", changes=Jsonb(changes))
    return bool(row["decaying"])


async def delete_namespace(tx: Transaction) -> None:
    """Delete the transaction's namespace and everything in it."""
    await tx.row("select loci_api.delete_namespace(%(namespace)s)")


async def verify(tx: Transaction) -> list[Row]:
    """Each promise: name, rows checked, rows that break it, an example."""
    return await tx.rows("select * from loci.verify(%(namespace)s)")
