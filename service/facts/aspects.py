"""Aspects of entities, and the attributes and constraints under them: changed, never lost."""

from datetime import datetime
from uuid import UUID

from db import facts
from db.facts import AspectRow, AttributeRow, ListedAspect
from db.pool import JsonObject, Transaction
from service.paging import Page, make_only_page


async def list_aspects(tx: Transaction, *, entity: str, as_of: datetime | None, known_at: datetime | None) -> Page[ListedAspect]:
    """Aspects of an entity, heaviest first, with the attributes and constraints that held at two moments."""
    return make_only_page(await facts.list_aspects(tx, entity=entity, as_of=as_of, known_at=known_at))


async def write_aspect(tx: Transaction, *, entity: str, aspect: JsonObject) -> AspectRow:
    """Give an entity an aspect, or change the one of this name; the aspect, and whether it is new."""
    return await facts.upsert_aspect(tx, entity=entity, aspect=aspect)


async def write_attribute(tx: Transaction, *, aspect_id: UUID, attribute: JsonObject) -> AttributeRow:
    """Put an attribute or constraint under an aspect; returns it, and what it supersedes."""
    return await facts.add_attribute(tx, aspect_id=aspect_id, attribute=attribute)


async def change_attribute(tx: Transaction, *, id: UUID, changes: JsonObject) -> AttributeRow:
    """Change an attribute; new content supersedes the old. Returns the attribute that stands now."""
    return await facts.update_attribute(tx, id=id, changes=changes)
