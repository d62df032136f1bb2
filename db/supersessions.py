"""Decisions that one attribute supersedes another: wrappers of the SQL functions."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def list_supersessions(
    tx: Transaction, *, status: str | None, signal: str | None, entity: str | None, limit: int, cursor: str | None
) -> list[Row]:
    """List decisions, newest first; each row carries the cursor of the page after it."""
    return await tx.rows(
        "select * from loci.list_supersessions(%(namespace)s, %(status)s, %(signal)s, %(entity)s, %(limit)s, %(cursor)s)",
        status=status,
        signal=signal,
        entity=entity,
        limit=limit,
        cursor=cursor,
    )


async def sweep_supersessions(tx: Transaction, *, entity: str | None, mode: str | None, limit: int, cursor: str | None) -> Row:
    """Visit a page of active facts; how many, the decisions made, the attributes superseded and the cursor of the next page."""
    return await tx.row(
        "select * from loci.sweep_supersessions(%(namespace)s, %(entity)s, %(mode)s, %(limit)s, %(cursor)s)",
        entity=entity,
        mode=mode,
        limit=limit,
        cursor=cursor,
    )


async def get_supersessions(tx: Transaction, *, ids: list[UUID]) -> list[Row]:
    """Decisions by id, in order."""
    return await tx.rows("select * from loci.get_supersessions(%(namespace)s, %(ids)s)", ids=ids)


async def apply_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Accept a decision: the older attribute is superseded."""
    return await tx.row("select * from loci.apply_supersession(%(namespace)s, %(id)s)", id=id)


async def undo_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Take an applied decision back: the older attribute is what it was."""
    return await tx.row("select * from loci.undo_supersession(%(namespace)s, %(id)s)", id=id)


async def dismiss_supersession(tx: Transaction, *, id: UUID) -> Row:
    """Say no to a proposed decision."""
    return await tx.row("select * from loci.dismiss_supersession(%(namespace)s, %(id)s)", id=id)


async def propagate_memory_status(tx: Transaction) -> Row:
    """Supersede attributes that rest on memories which are over; how many."""
    return await tx.row("select loci.propagate_memory_status(%(namespace)s) as attributes")


async def pairs_to_judge(tx: Transaction) -> list[Row]:
    """Pairs of sibling facts on which all signals are silent and that no model has judged, newest first."""
    return await tx.rows("select * from loci.pairs_to_judge(%(namespace)s)")


async def apply_verdicts(tx: Transaction, *, verdicts: list[Row]) -> list[Row]:
    """Record what a model said of pairs, and supersede or propose what may be; one row a contradiction."""
    return await tx.rows("select * from loci.apply_verdicts(%(namespace)s, %(verdicts)s)", verdicts=Jsonb(verdicts))
