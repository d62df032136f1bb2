"""Facts of a text, orphans, and what is not settled: wrappers of the SQL functions that decide about them."""

from datetime import UTC, datetime
from typing import TypedDict, TypeVar, cast
from uuid import UUID

from psycopg.errors import SerializationFailure
from psycopg.types.json import Jsonb

from db.memories import MemoryRow
from db.pool import JsonObject, Transaction


class UnsettledRow(TypedDict):
    """A memory that a new one may outdate."""

    id: str
    content: str
    valid_from: datetime
    similarity: float


class PairSide(TypedDict):
    """A memory of a pair of which one may outdate the other."""

    id: str
    content: str
    valid_from: datetime
    category: str
    about: str | None
    source: str | None


class UnsettledPair(TypedDict):
    """Two memories of which the newer one may outdate the older one."""

    newer: PairSide
    older: PairSide
    similarity: float


class UnsettledPairRow(UnsettledPair):
    """A pair and its place in the list."""

    cursor: str


async def notice_memory(tx: Transaction, *, id: UUID, embedding: list[float] | None, model: int | None) -> list[UnsettledRow]:
    """Compare a memory that was just written with what is known. Returns the memories that it may outdate; near ones are linked."""
    found = await tx.value(
        list[UnsettledRow],
        "select loci_api.notice_memory(%(namespace)s, %(id)s, %(embedding)s::real[], %(model)s::integer) as unsettled",
        id=id,
        embedding=embedding,
        model=model,
    )
    return [parse_valid_from(row) for row in found]


T = TypeVar("T", UnsettledRow, PairSide)


def parse_valid_from(row: T) -> T:
    """A memory out of JSON, with its `valid_from` as a time."""
    row["valid_from"] = datetime.fromisoformat(cast("str", row["valid_from"])).astimezone(UTC)
    return row


async def settle_memories(tx: Transaction, *, newer: UUID, older: UUID, verdict: str) -> list[MemoryRow]:
    """Say which of two memories holds; the newer and the older one as they are then."""
    return await tx.rows(
        MemoryRow,
        "select * from loci_api.settle_memories(%(namespace)s, %(newer)s, %(older)s, %(verdict)s)",
        newer=newer,
        older=older,
        verdict=verdict,
    )


async def list_unsettled(tx: Transaction, *, limit: int, cursor: str | None) -> list[UnsettledPairRow]:
    """A page of open pairs, newest first."""
    rows = await tx.rows(
        UnsettledPairRow, "select * from loci_api.list_unsettled(%(namespace)s, %(limit)s, %(cursor)s)", limit=limit, cursor=cursor
    )
    return [{**row, "newer": parse_valid_from(row["newer"]), "older": parse_valid_from(row["older"])} for row in rows]


class PairToSettle(TypedDict):
    """An open pair that a model is asked about, and how the two memories stand to each other."""

    newer_id: UUID
    older_id: UUID
    newer: PairSide
    older: PairSide
    comparable: bool
    same_subject: bool
    signal: str | None


class SettledByModel(TypedDict):
    """A model's verdict on a pair, and the guard that refused it; None: the pair is settled."""

    newer_id: UUID
    older_id: UUID
    verdict: str
    guard: str | None


async def pairs_to_settle(tx: Transaction, *, limit: int) -> list[PairToSettle]:
    """Open pairs that no job has asked about yet, oldest first."""
    rows = await tx.rows(PairToSettle, "select * from loci_api.pairs_to_settle(%(namespace)s, %(limit)s)", limit=limit)
    return [{**row, "newer": parse_valid_from(row["newer"]), "older": parse_valid_from(row["older"])} for row in rows]


async def settle_by_model(tx: Transaction, *, verdicts: list[JsonObject]) -> list[SettledByModel]:
    """Settle open pairs as a model says, as far as the guards allow; one row each."""
    return await tx.rows(
        SettledByModel, "select * from loci_api.settle_by_model(%(namespace)s, %(verdicts)s)", verdicts=Jsonb(verdicts)
    )


class FactBasis(TypedDict):
    """The rules' decision about a fact, and what is known beside it."""

    ordinal: int
    is_settled: bool
    decision: JsonObject
    known: list[JsonObject]


class RetainedFact(TypedDict):
    """Outcome for a fact."""

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
    """Outcome for a page of orphans."""

    placed: list[JsonObject]
    linked: list[JsonObject]
    created: list[JsonObject]
    summarised: list[JsonObject]
    visited: int
    orphans_left: int
    next_cursor: int | None


class Outdated(Exception):
    """The compared memories were changed meanwhile; nothing was written. Decide again."""


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
    return [{**row, "unsettled": [parse_valid_from(one) for one in row["unsettled"]]} for row in rows]


async def orphans_to_place(
    tx: Transaction, *, limit: int, category: str | None = None, cursor: int | None = None, concepts: int = 200
) -> OrphansToPlace:
    """A page of `orphans` with the places that the rules would give them, and so many of the `concepts` that there are."""
    return await tx.row(
        OrphansToPlace,
        "select * from loci_api.orphans_to_place(%(namespace)s, %(limit)s, %(category)s, %(cursor)s, %(concepts)s)",
        limit=limit,
        category=category,
        cursor=cursor,
        concepts=concepts,
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
