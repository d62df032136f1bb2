"""Facts of a text, and orphans: wrappers of the SQL functions that decide about them."""

from typing import Any

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def fact_candidates(tx: Transaction, *, items: list[Row], limit: int = 8) -> list[Row]:
    """What is known beside each fact (an item of `remember`): nearness, and whether one contradicts the other."""
    return await tx.rows("select * from loci.fact_candidates(%(namespace)s, %(items)s, %(limit)s)", items=Jsonb(items), limit=limit)


async def retain(tx: Transaction, *, items: list[Row], decisions: list[Row] | None = None, dry_run: bool = False) -> list[Row]:
    """Take in facts in order, decided by rules or as given; one decision a fact."""
    return await tx.rows(
        "select * from loci.retain(%(namespace)s, %(items)s, %(decisions)s, %(dry_run)s)",
        items=Jsonb(items),
        decisions=None if decisions is None else Jsonb(decisions),
        dry_run=dry_run,
    )


async def reflect(
    tx: Transaction, *, limit: int = 200, category: str | None = None, cursor: int | None = None, dry_run: bool = False
) -> Row:
    """Place a page of orphans and link what is related: `placed`, `linked`, `created`, `orphans_left`, `next_cursor`."""
    return await tx.row(
        "select * from loci.reflect(%(namespace)s, %(limit)s, %(category)s, %(cursor)s, %(dry_run)s)",
        limit=limit,
        category=category,
        cursor=cursor,
        dry_run=dry_run,
    )
