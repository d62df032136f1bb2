"""Operations: the log, undoing, and the change feed with a look at which feeds have grown."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from db.pipeline import Sent
from db.pool import JsonObject, Transaction

LOGS = ("recalls", "key_uses", "jobs", "model_calls", "feedback_signals")  # what sweep_log sweeps


class OperationRow(TypedDict):
    """An operation."""

    id: UUID
    action: str
    via: str
    agent_id: UUID | None
    agent: str | None
    key_id: UUID | None
    request_id: str | None
    started_at: datetime
    undoes: UUID | None
    undone_by: UUID | None
    changes: dict[str, int]


class ListedOperation(OperationRow):
    """An operation, and where its list goes on after it."""

    cursor: str


class OperationChangeRow(TypedDict):
    """A change of an operation."""

    position: int
    kind: str
    action: str
    subject_id: UUID | None
    content: str | None
    before: JsonObject | None
    after: JsonObject | None
    changed_at: datetime


class UndoneOperation(TypedDict):
    """Things that are as before, things that were skipped, and whether edges have to be brought in step."""

    operation_id: UUID
    undoes: UUID
    undone: dict[str, int]
    skipped: list[JsonObject]
    conflicts: list[JsonObject]
    decaying: bool


class UndoPreview(TypedDict):
    """Effects of undoing; `more`: changes that are not listed."""

    undone: dict[str, int]
    skipped: list[JsonObject]
    conflicts: list[JsonObject]
    changes: list[JsonObject]
    more: int


class FeedBounds(TypedDict):
    """How far the feed reaches. Places are the order over all namespaces, and stay inside the service."""

    place: int
    last_place: int
    last_cursor: str
    namespace_ids: list[int]


class ChangeRow(TypedDict):
    """A change in the feed; `more`: the page ended early. `place` stays inside the service."""

    place: int
    position: int
    cursor: str
    namespace: str
    kind: str
    action: str
    subject_id: UUID | None
    operation_id: UUID
    content: str | None
    before: JsonObject | None
    after: JsonObject | None
    changed_at: datetime
    agent_id: UUID | None
    agent: str | None
    via: str
    more: bool


@dataclass(frozen=True)
class OperationFilter:
    """Which operations a list is about; None restricts nothing."""

    action: str | None = None
    agent: UUID | None = None
    via: str | None = None
    subject: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_operations(
    tx: Transaction, wanted: OperationFilter, *, limit: int, cursor: str | None = None
) -> list[ListedOperation]:
    """Operations, newest first, with counts of their changes; each carries the cursor of the page after it."""
    return await tx.rows(
        ListedOperation,
        """select * from loci.list_operations(%(namespace)s, %(limit)s, %(cursor)s, %(action)s, %(agent)s, %(via)s, %(subject)s,
                                              %(since)s, %(until)s)""",
        limit=limit,
        cursor=cursor,
        **vars(wanted),
    )


async def get_operation(tx: Transaction, *, id: UUID) -> OperationRow:
    """One operation."""
    return await tx.row(OperationRow, "select * from loci.get_operation(%(namespace)s, %(id)s)", id=id)


async def operation_changes(tx: Transaction, *, id: UUID, limit: int, after: int) -> list[OperationChangeRow]:
    """Changes of an operation, in order. Committed changes get their positions first, so a page is never short of one."""
    await tx.post("select from loci_api.sequence_changes_of(array[%(namespace)s]::text[])")
    return await tx.rows(
        OperationChangeRow,
        "select * from loci.operation_changes(%(namespace)s, %(id)s, %(limit)s, %(after)s)",
        id=id,
        limit=limit,
        after=after,
    )


async def sweep_log(tx: Transaction, *, log: str, limit: int) -> int:
    """Delete what is past its days in one of LOGS, oldest first; how many rows. The operator's."""
    return await tx.value(int, "select loci_api.sweep_log(%(log)s, %(limit)s) as deleted", log=log, limit=limit)


async def sweep_operations(tx: Transaction, *, limit: int) -> int:
    """Delete changes and operations that are past their time; how many of what there was more of. The operator's."""
    return await tx.value(
        int, "select greatest(changes, operations) as swept from loci_api.sweep_operations(%(limit)s)", limit=limit
    )


async def undo_operation(tx: Transaction, *, id: UUID, skip_changed: bool = False) -> UndoneOperation:
    """Undo an operation: which one does it, what is as before, what was skipped, and whether edges are `decaying`."""
    return await tx.row(
        UndoneOperation,
        "select * from loci_api.undo_operation(%(namespace)s, %(id)s, %(skip_changed)s)",
        id=id,
        skip_changed=skip_changed,
    )


async def preview_undo(tx: Transaction, *, id: UUID) -> UndoPreview:
    """Undo an operation but for what was changed since, say what that did, and take it back."""
    return await tx.row(UndoPreview, "select * from loci_api.preview_undo(%(namespace)s, %(id)s)", id=id)


class WaitingWork(TypedDict):
    """Which kinds of background work have something to do."""

    feed: bool
    names: bool
    vectors: bool


async def waiting_work(tx: Transaction) -> WaitingWork:
    """Waiting work of the worker. The operator's."""
    return await tx.row(WaitingWork, "select feed, names, vectors from loci_api.waiting_work()")


async def sequence_changes(tx: Transaction, *, limit: int = 10_000) -> int:
    """Give committed changes their positions in the feed; how many."""
    return await tx.value(int, "select moved from loci_api.sequence_changes(%(limit)s)", limit=limit)


async def send_sequence_changes(tx: Transaction, *, namespaces: list[str] | None) -> None:
    """Have positions given to all that is committed there, without waiting for the answer: the statements after it see them."""
    await tx.post("select from loci_api.sequence_changes_of(%(namespaces)s::text[])", namespaces=namespaces)


async def send_feed_bounds(
    tx: Transaction, *, namespaces: list[str] | None, after: str | None, place: int | None
) -> Sent[FeedBounds]:
    """Ask how far the feed reaches, and at which place a cursor stands."""
    return await tx.send(
        FeedBounds,
        "select * from loci_api.feed_bounds(%(namespaces)s::text[], %(after)s, %(place)s::bigint)",
        namespaces=namespaces,
        after=after,
        place=place,
    )


async def read_changes(
    tx: Transaction, *, namespaces: list[str] | None, after: str | None, place: int | None, kinds: list[str] | None, limit: int
) -> list[ChangeRow]:
    """Changes after a cursor, or after a place where one is given, oldest first; `more` says whether the page ended early."""
    return await tx.rows(
        ChangeRow,
        "select * from loci_api.read_changes(%(namespaces)s::text[], %(after)s, %(place)s::bigint, %(kinds)s::text[], %(limit)s)",
        namespaces=namespaces,
        after=after,
        place=place,
        kinds=kinds,
        limit=limit,
    )


class FeedGlance:
    """Looks at which feeds have grown, on a connection of its own, so that those who wait for changes need none of the pool."""

    def __init__(self, connection: psycopg.AsyncConnection[JsonObject]) -> None:
        self._connection = connection
        self._place = 0

    async def find_grown_feeds(self) -> frozenset[int]:
        """Ids of the namespaces whose feed has grown since the last look; at the first one, of all. Raises psycopg.Error."""
        async with self._connection.transaction():
            await self._connection.execute("select from loci_api.begin_request(null, null, null)")
            row = await (await self._connection.execute("select * from loci_api.grown_feeds(%s)", [self._place])).fetchone()
        assert row is not None  # noqa: S101 (one row always)
        self._place = row["place"]
        return frozenset(row["namespace_ids"])


@asynccontextmanager
async def glance_at_feeds(url: str) -> AsyncIterator[FeedGlance]:
    """Open a connection on which feeds are looked at. Raises psycopg.Error, also in the block when it is lost."""
    connection = await psycopg.AsyncConnection[JsonObject].connect(
        url,
        autocommit=True,
        row_factory=dict_row,
        application_name="loci feed",
        connect_timeout=5,
        keepalives_idle=30,  # a dead peer is noticed within a minute
        keepalives_interval=10,
        keepalives_count=3,
    )
    async with connection:
        yield FeedGlance(connection)
