"""Supersession: which fact made which sibling obsolete, why, and taking that back."""

from uuid import UUID

from db import facts
from db.facts import ListedSupersession, SupersessionRow
from db.pool import JsonObject, Transaction
from loci.models.facts import Sweep
from service.paging import Page, make_page


async def list_supersessions(
    tx: Transaction, *, status: str | None, signal: str | None, entity: str | None, limit: int, cursor: str | None
) -> Page[ListedSupersession]:
    """Decisions, newest first, with both contents, the signal and the words that gave it."""
    rows = await facts.list_supersessions(tx, status=status, signal=signal, entity=entity, limit=limit + 1, cursor=cursor)
    return make_page(rows, limit)


async def sweep_supersessions(tx: Transaction, wanted: Sweep) -> JsonObject:
    """Look for contradictions in a page of facts that stand already; the decisions made, and the cursor of the next page."""
    swept = await facts.sweep_supersessions(tx, entity=wanted.entity, mode=wanted.mode, limit=wanted.limit, cursor=wanted.cursor)
    items = await facts.get_supersessions(tx, ids=swept["decided"])
    return {"items": items, **{name: value for name, value in swept.items() if name != "decided"}}


async def accept_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Accept a decision: the older attribute is superseded."""
    return await facts.apply_supersession(tx, id=id)


async def undo_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Take an applied decision back: the older attribute is what it was."""
    return await facts.undo_supersession(tx, id=id)


async def dismiss_supersession(tx: Transaction, *, id: UUID) -> SupersessionRow:
    """Say no to a proposed decision: nothing moves."""
    return await facts.dismiss_supersession(tx, id=id)
