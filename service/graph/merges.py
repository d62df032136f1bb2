"""Entities that are the same: merged, split, found under several spellings, and all that undone."""

from uuid import UUID

from db.graph import merges
from db.graph.merges import MergeRow, UndoneMerge
from db.pool import JsonObject, Transaction
from service.graph.entities import get_entity
from service.paging import Page, make_page


async def merge_entities(tx: Transaction, *, into: str, other: str, reason: str | None) -> JsonObject:
    """Merge an entity into another; the kept one, and the merge that undoes it."""
    done = await merges.merge_entities(tx, into=into, other=other, reason=reason)
    return {**await get_entity(tx, ref=str(done["id"])), "merge_id": done["merge_id"]}


async def split_entity(tx: Transaction, *, ref: str, split: JsonObject) -> JsonObject:
    """Make a new entity of a part of one; the new one, and the split that undoes it."""
    done = await merges.split_entity(tx, ref=ref, split=split)
    return {**await get_entity(tx, ref=str(done["id"])), "merge_id": done["merge_id"]}


async def merge_duplicate_entities(tx: Transaction, *, dry_run: bool, limit: int) -> JsonObject:
    """Merge entities that are one under several spellings, or say which."""
    return {"items": await merges.merge_duplicate_entities(tx, dry_run=dry_run, limit=limit)}


async def list_merges(tx: Transaction, *, entity: str | None, limit: int, cursor: str | None) -> Page[MergeRow]:
    """Merges and splits, newest first; undone ones too."""
    return make_page(await merges.list_merges(tx, entity=entity, limit=limit + 1, cursor=cursor), limit)


async def undo_merge(tx: Transaction, *, id: UUID, choice: JsonObject) -> UndoneMerge:
    """Undo a merge or a split; both entities, what stays with the kept one, and for a split the merge that joins them again."""
    return await merges.undo_merge(tx, id=id, choice=choice)
