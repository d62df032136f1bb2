"""Namespaces: wrappers of the SQL functions that make, change, list and verify them."""

from datetime import date, datetime
from typing import TypedDict

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class NamespaceRow(TypedDict):
    """A namespace: settings in force, and how much it holds."""

    name: str
    description: str | None
    language: str
    role: str
    settings: JsonObject
    memories: int
    current_memories: int
    entities: int
    edges: int
    pending_embeddings: int
    pending_names: int
    created_at: datetime
    updated_at: datetime


class GrowthRow(TypedDict):
    """A week: memories written in it, and how many there were at its end."""

    week: date
    written: int
    memories: int


class PromiseRow(TypedDict):
    """A promise, rows that were checked and that break it, and an example."""

    name: str
    checked: int
    broken: int
    example: str | None


async def create_namespace(tx: Transaction, *, name: str, description: str | None, language: str, settings: JsonObject) -> None:
    """Create a namespace. Operator only."""
    await tx.run(
        "select loci_api.create_namespace(%(name)s, %(description)s, %(language)s, %(settings)s)",
        name=name,
        description=description,
        language=language,
        settings=Jsonb(settings),
    )


async def list_namespaces(
    tx: Transaction, *, name: str | None = None, limit: int = 100, cursor: str | None = None
) -> list[NamespaceRow]:
    """Readable namespaces with role, settings and counts, by name; only `name` if given."""
    return await tx.rows(
        NamespaceRow, "select * from loci.list_namespaces(%(name)s, %(limit)s, %(cursor)s)", name=name, limit=limit, cursor=cursor
    )


async def namespace_growth(tx: Transaction, *, weeks: int) -> list[GrowthRow]:
    """The transaction's namespace week by week, oldest first."""
    return await tx.rows(GrowthRow, "select * from loci.namespace_growth(%(namespace)s, %(weeks)s)", weeks=weeks)


async def update_namespace(tx: Transaction, *, changes: JsonObject) -> bool:
    """Merge {description, settings} into the transaction's namespace; whether graph.fade_batch has edges to bring in step."""
    return await tx.value(bool, "select loci_api.update_namespace(%(namespace)s, %(changes)s) as decaying", changes=Jsonb(changes))


async def delete_namespace(tx: Transaction) -> None:
    """Delete the transaction's namespace and everything in it."""
    await tx.run("select loci_api.delete_namespace(%(namespace)s)")


async def verify(tx: Transaction) -> list[PromiseRow]:
    """Each promise: name, rows checked, rows that break it, an example."""
    return await tx.rows(PromiseRow, "select * from loci.verify(%(namespace)s)")


async def repair_lexical_index(tx: Transaction) -> int:
    """Index memories anew whose words the lexical index has otherwise; how many documents were."""
    return await tx.value(int, "select loci_api.repair_lexical_index(%(namespace)s) as repaired")
