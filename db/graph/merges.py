"""Merges and splits of entities: wrappers of the SQL functions."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]


async def merge_entities(tx: Transaction, *, into: str, other: str, reason: str | None) -> Row:
    """Merge an entity into another; the merge's id and the kept entity's."""
    return await tx.row(
        "select * from loci_api.merge_entities(%(namespace)s, %(into)s, %(other)s, %(reason)s)",
        into=into,
        other=other,
        reason=reason,
    )


async def split_entity(tx: Transaction, *, ref: str, split: Row) -> Row:
    """Make a new entity of a part of one; the split's id and the new entity's."""
    return await tx.row("select * from loci_api.split_entity(%(namespace)s, %(ref)s, %(split)s)", ref=ref, split=Jsonb(split))


async def undo_merge(tx: Transaction, *, id: UUID) -> Row:
    """Undo a merge or a split; both entities, and for a split the merge that joins them again."""
    return await tx.row("select * from loci_api.undo_merge(%(namespace)s, %(id)s)", id=id)


async def list_merges(tx: Transaction, *, entity: str | None, limit: int, cursor: str | None) -> list[Row]:
    """A page of merges and splits, newest first."""
    return await tx.rows(
        "select * from loci.list_merges(%(namespace)s, %(entity)s, %(limit)s, %(cursor)s)",
        entity=entity,
        limit=limit,
        cursor=cursor,
    )


async def merge_duplicate_entities(tx: Transaction, *, dry_run: bool, limit: int) -> list[Row]:
    """Merge entities that are one under several spellings, or say which."""
    return await tx.rows(
        "select * from loci_api.merge_duplicate_entities(%(namespace)s, %(dry_run)s, %(limit)s)", dry_run=dry_run, limit=limit
    )
