"""Facts of a text, and orphans: wrappers of the SQL functions that decide about them."""

from typing import Any

from psycopg.errors import SerializationFailure
from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


class Outdated(Exception):
    """What given decisions rest on was changed meanwhile; nothing was written. Decide again."""


async def fact_candidates(tx: Transaction, *, items: list[Row], limit: int = 8) -> list[Row]:
    """What is known beside each fact (an item of `remember`): nearness, and whether one contradicts the other."""
    return await tx.rows("select * from loci.fact_candidates(%(namespace)s, %(items)s, %(limit)s)", items=Jsonb(items), limit=limit)


async def facts_to_decide(tx: Transaction, *, items: list[Row]) -> list[Row]:
    """For each fact what the rules would do (`decision`), what is `known` beside it, and whether it `is_settled`."""
    return await tx.rows("select * from loci_api.facts_to_decide(%(namespace)s, %(items)s)", items=Jsonb(items))


async def retain(tx: Transaction, *, items: list[Row], decisions: list[Row] | None = None, dry_run: bool = False) -> list[Row]:
    """Take in facts in order, decided by rules or as given. Raises Outdated where given decisions no longer stand."""
    try:
        return await tx.rows(
            "select * from loci_api.retain(%(namespace)s, %(items)s, %(decisions)s, %(dry_run)s)",
            items=Jsonb(items),
            decisions=None if decisions is None else Jsonb(decisions),
            dry_run=dry_run,
        )
    except SerializationFailure as error:
        if decisions is None:
            raise
        raise Outdated(str(error.diag.message_primary)) from error


async def orphans_to_place(tx: Transaction, *, limit: int, category: str | None = None, cursor: int | None = None) -> Row:
    """A page of `orphans` with the places that the rules would give them, and the `concepts` that there are."""
    return await tx.row(
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
    plan: Row | None = None,
) -> Row:
    """Place a page of orphans and link what is related: `placed`, `linked`, `created`, `summarised`, `orphans_left`, `next_cursor`.

    `plan`: what a model proposes, checked; None: by rules alone.
    """
    return await tx.row(
        "select * from loci_api.reflect(%(namespace)s, %(limit)s, %(category)s, %(cursor)s, %(dry_run)s, %(plan)s)",
        plan=None if plan is None else Jsonb(plan),
        limit=limit,
        category=category,
        cursor=cursor,
        dry_run=dry_run,
    )
