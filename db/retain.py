"""Facts of a text, and orphans: wrappers of the SQL functions that decide about them."""

from typing import TypedDict
from uuid import UUID

from psycopg.errors import SerializationFailure
from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction
from db.settling import UnsettledRow, dated


class FactBasis(TypedDict):
    """What the rules would do with a fact, and what is known beside it."""

    ordinal: int
    is_settled: bool
    decision: JsonObject
    known: list[JsonObject]


class RetainedFact(TypedDict):
    """What became of a fact."""

    ordinal: int
    action: str
    memory_id: UUID | None
    lineage: str | None
    superseded: UUID | None
    target_id: UUID | None
    links: list[JsonObject]
    confidence: float
    reason: str | None
    signal: str | None
    unsettled: list[UnsettledRow]


class OrphansToPlace(TypedDict):
    """A page of orphans, and the concepts that there are."""

    orphans: list[JsonObject]
    concepts: list[JsonObject]


class ReflectedPage(TypedDict):
    """What was done with a page of orphans."""

    placed: list[JsonObject]
    linked: list[JsonObject]
    created: list[JsonObject]
    summarised: list[JsonObject]
    visited: int
    orphans_left: int
    next_cursor: int | None


class Outdated(Exception):
    """What given decisions rest on was changed meanwhile; nothing was written. Decide again."""


async def facts_to_decide(tx: Transaction, *, items: list[JsonObject]) -> list[FactBasis]:
    """For each fact what the rules would do (`decision`), what is `known` beside it, and whether it `is_settled`."""
    return await tx.rows(FactBasis, "select * from loci_api.facts_to_decide(%(namespace)s, %(items)s)", items=Jsonb(items))


async def retain(
    tx: Transaction, *, items: list[JsonObject], decisions: list[JsonObject] | None = None, dry_run: bool = False
) -> list[RetainedFact]:
    """Take in facts in order, decided by rules or as given. Raises Outdated where given decisions no longer stand."""
    try:
        rows = await tx.rows(
            RetainedFact,
            "select * from loci_api.retain(%(namespace)s, %(items)s, %(decisions)s, %(dry_run)s)",
            items=Jsonb(items),
            decisions=None if decisions is None else Jsonb(decisions),
            dry_run=dry_run,
        )
    except SerializationFailure as error:
        if decisions is None:
            raise
        raise Outdated(str(error.diag.message_primary)) from error
    return [{**row, "unsettled": [dated(one) for one in row["unsettled"]]} for row in rows]


async def orphans_to_place(
    tx: Transaction, *, limit: int, category: str | None = None, cursor: int | None = None
) -> OrphansToPlace:
    """A page of `orphans` with the places that the rules would give them, and the `concepts` that there are."""
    return await tx.row(
        OrphansToPlace,
        "select * from loci_api.orphans_to_place(%(namespace)s, %(limit)s, %(category)s, %(cursor)s)",
        limit=limit,
        category=category,
        cursor=cursor,
    )


async def reflect(
    tx: Transaction,
    *,
    limit: int = 200,
    category: str | None = None,
    cursor: int | None = None,
    dry_run: bool = False,
    plan: JsonObject | None = None,
) -> ReflectedPage:
    """Place a page of orphans and link what is related: `placed`, `linked`, `created`, `summarised`, `orphans_left`, `next_cursor`.

    `plan`: what a model proposes, checked; None: by rules alone.
    """
    return await tx.row(
        ReflectedPage,
        "select * from loci_api.reflect(%(namespace)s, %(limit)s, %(category)s, %(cursor)s, %(dry_run)s, %(plan)s)",
        plan=None if plan is None else Jsonb(plan),
        limit=limit,
        category=category,
        cursor=cursor,
        dry_run=dry_run,
    )
