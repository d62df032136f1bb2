"""Memories: read, listed, changed, forgotten, erased; their history, links and categories."""

import re
from datetime import datetime
from uuid import UUID

from db import memories, retain
from db.errors import FieldError, NotFound
from db.memories import CategoryRow, DependentRow, LinkRow, ListedLink, MemoryRow
from db.pool import JsonObject, Transaction
from db.retain import UnsettledPairRow
from loci.models.memories import EraseInput
from service.paging import Page, make_only_page, make_page, without_place

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
LAST_VERSION = 2**31 - 1  # the largest number that a version can have


async def get_memory(tx: Transaction, *, ref: str, as_of: datetime | None, known_at: datetime | None) -> MemoryRow:
    """A memory as believed at `known_at`; with `as_of`, the version of its lineage that was valid then.

    The visible version, for a lineage by name. Raises NotFound.
    """
    if ID.fullmatch(ref):
        return without_place(await memories.get_memory(tx, id=UUID(ref), as_of=as_of, known_at=known_at))
    found = await memories.current_versions(tx, lineages=[ref], as_of=as_of, known_at=known_at)
    if not found:
        message = f"no version of a lineage {ref!r} is valid then"
        raise NotFound(message, [FieldError("id", message)])
    return without_place(found[0])


async def current_versions(
    tx: Transaction, *, lineages: list[str], as_of: datetime | None, known_at: datetime | None
) -> Page[MemoryRow]:
    """The visible version of each of these lineages, in the order asked; those without one are left out."""
    return make_only_page(await memories.current_versions(tx, lineages=lineages, as_of=as_of, known_at=known_at))


async def list_memories(
    tx: Transaction,
    *,
    filters: JsonObject,
    limit: int,
    cursor: int | None,
    as_of: datetime | None,
    known_at: datetime | None,
    all_versions: bool,
) -> Page[MemoryRow]:
    """Memories, newest first; filters that are None restrict nothing."""
    rows = await memories.list_memories(
        tx,
        filters={name: value for name, value in filters.items() if value is not None},
        limit=limit + 1,
        cursor=cursor,
        as_of=as_of,
        known_at=known_at,
        all_versions=all_versions,
    )
    return make_page(rows, limit)


async def list_versions(
    tx: Transaction, *, ref: str, limit: int, after: int = 0, as_of: datetime | None = None, known_at: datetime | None = None
) -> Page[MemoryRow]:
    """Versions of a lineage, named by itself or by the id of one of them, oldest first."""
    rows = await memories.history(tx, ref=ref, limit=limit + 1, after=after, as_of=as_of, known_at=known_at)
    return make_page(rows, limit, "version")


async def all_versions(tx: Transaction, *, ref: str, as_of: datetime | None, known_at: datetime | None) -> list[MemoryRow]:
    """All of them, however many."""
    rows: list[MemoryRow] = []
    while found := await memories.history(tx, ref=ref, after=rows[-1]["version"] if rows else 0, as_of=as_of, known_at=known_at):
        rows += found
    return [without_place(row) for row in rows]


async def change_memory(tx: Transaction, *, id: UUID, changes: JsonObject) -> MemoryRow:
    """Change what a memory says of itself, but its content; returns it."""
    return without_place(await memories.update_memory(tx, id=id, changes=changes))


async def forget_memory(tx: Transaction, *, id: UUID) -> JsonObject:
    """Forget a memory: recall no longer finds it; returns it, and whether it was `already_forgotten`."""
    before = await memories.get_memory(tx, id=id, as_of=None, known_at=None)
    row = without_place(await memories.forget_memory(tx, id=id, forget=True))
    return {**row, "already_forgotten": before["status"] == "forgotten"}


async def restore_memory(tx: Transaction, *, id: UUID) -> MemoryRow:
    """Take a forgetting back; returns the memory."""
    return without_place(await memories.forget_memory(tx, id=id, forget=False))


async def erase_memories(tx: Transaction, wanted: EraseInput) -> JsonObject:
    """Erase memories for good; the receipt: `erased` memories, rows by table, and the turns that hold the same words.

    A dry run takes that back, and says which things would go.
    """
    ids, versions, subtree, turns = wanted.ids, wanted.versions, wanted.subtree, wanted.with_turns
    if wanted.dry_run:
        seen = await memories.preview_erasure(tx, ids=ids, versions=versions, subtree=subtree, with_turns=turns)
        return {**seen, "dry_run": True}
    receipt = await memories.erase_memories(tx, ids=ids, versions=versions, subtree=subtree, with_turns=turns)
    return {**receipt, "dry_run": False, "changes": [], "more": 0}


async def list_dependents(tx: Transaction, *, id: UUID, limit: int, cursor: str | None) -> Page[DependentRow]:
    """Facts, edges and entities that rest on a version of a memory."""
    return make_page(await memories.list_dependents(tx, id=id, limit=limit + 1, cursor=cursor), limit)


async def link_memories(tx: Transaction, *, source: UUID, target: UUID, type: str, strength: float) -> LinkRow:
    """Link a memory to another, or change the strength of the link."""
    return await memories.link_memories(tx, source=source, target=target, type=type, strength=strength)


async def unlink_memories(tx: Transaction, *, source: UUID, target: UUID, type: str) -> JsonObject:
    """End a link. Raises NotFound where there is none."""
    if not await memories.unlink_memories(tx, source=source, target=target, type=type):
        raise NotFound(f"there is no link {type!r} from {source} to {target}", [FieldError("type", "must be the type of a link")])
    return {"source_id": source, "target_id": target, "type": type}


async def list_links(
    tx: Transaction,
    *,
    id: UUID,
    limit: int,
    cursor: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    all_versions: bool,
) -> Page[ListedLink]:
    """Links of a memory in both directions, strongest first; with `all_versions` what they were before, too."""
    rows = await memories.list_links(
        tx, id=id, limit=limit + 1, cursor=cursor, as_of=as_of, known_at=known_at, all_versions=all_versions
    )
    return make_page(rows, limit)


async def settle_memories(tx: Transaction, *, newer: UUID, older: UUID, verdict: str) -> JsonObject:
    """Say which of two memories holds; both as they are then."""
    rows = await retain.settle_memories(tx, newer=newer, older=older, verdict=verdict)
    return {"newer": without_place(rows[0]), "older": without_place(rows[1]), "verdict": verdict}


async def list_unsettled(tx: Transaction, *, limit: int, cursor: str | None) -> Page[UnsettledPairRow]:
    """Pairs of which the newer memory may outdate the older one, newest first."""
    return make_page(await retain.list_unsettled(tx, limit=limit + 1, cursor=cursor), limit)


async def list_categories(
    tx: Transaction, *, under: str | None, as_of: datetime | None, known_at: datetime | None
) -> Page[CategoryRow]:
    """Category paths with counts of visible memories."""
    return make_only_page(await memories.list_categories(tx, under=under, as_of=as_of, known_at=known_at))
