"""Merges and splits of entities: wrappers of the SQL functions."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class Merged(TypedDict):
    """A merge or split that was made, and the entity that it made or kept."""

    merge_id: UUID
    id: UUID


class UndoneMerge(TypedDict):
    """Both entities of an undone merge, and what stays with the kept one; of an undone split, the merge that joins them again."""

    merge_id: UUID | None
    kept_id: UUID
    merged_id: UUID
    aliases: list[str]
    edges: list[JsonObject]


class MergeRow(TypedDict):
    """A merge or a split."""

    id: UUID
    kind: str
    kept_id: UUID
    kept: str
    merged_id: UUID
    merged: str
    reason: str | None
    automatic: bool
    edges: int
    mentions: int
    decided_at: datetime
    decided_by: UUID | None
    undone_at: datetime | None
    cursor: str


class DuplicateRow(TypedDict):
    """Two entities that are one; `merge_id` None: they were not merged."""

    merge_id: UUID | None
    kept_id: UUID
    kept: str
    merged_id: UUID
    merged: str
    basis: str
    score: float


async def merge_entities(tx: Transaction, *, into: str, other: str, reason: str | None) -> Merged:
    """Merge an entity into another; the merge's id and the kept entity's."""
    return await tx.row(
        Merged,
        "select * from loci_api.merge_entities(%(namespace)s, %(into)s, %(other)s, %(reason)s)",
        into=into,
        other=other,
        reason=reason,
    )


async def split_entity(tx: Transaction, *, ref: str, split: JsonObject) -> Merged:
    """Make a new entity of a part of one; the split's id and the new entity's."""
    return await tx.row(
        Merged, "select * from loci_api.split_entity(%(namespace)s, %(ref)s, %(split)s)", ref=ref, split=Jsonb(split)
    )


async def undo_merge(tx: Transaction, *, id: UUID, choice: JsonObject) -> UndoneMerge:
    """Undo a merge or a split (`keep_names`, `edge_ids`); both entities, and what stays with the kept one."""
    return await tx.row(
        UndoneMerge, "select * from loci_api.undo_merge(%(namespace)s, %(id)s, %(choice)s)", id=id, choice=Jsonb(choice)
    )


async def list_merges(tx: Transaction, *, entity: str | None, limit: int, cursor: str | None) -> list[MergeRow]:
    """A page of merges and splits, newest first."""
    return await tx.rows(
        MergeRow,
        "select * from loci.list_merges(%(namespace)s, %(entity)s, %(limit)s, %(cursor)s)",
        entity=entity,
        limit=limit,
        cursor=cursor,
    )


async def merge_duplicate_entities(tx: Transaction, *, dry_run: bool, limit: int) -> list[DuplicateRow]:
    """Merge entities that are one under several spellings, or say which."""
    return await tx.rows(
        DuplicateRow,
        "select * from loci_api.merge_duplicate_entities(%(namespace)s, %(dry_run)s, %(limit)s)",
        dry_run=dry_run,
        limit=limit,
    )
