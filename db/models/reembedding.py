"""Changing the embedding model while it serves: wrappers of SQL functions, and what the owner does to indexes.

The functions are the operator's.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import LiteralString, TypedDict, cast
from uuid import UUID

from psycopg import AsyncConnection, sql
from psycopg.errors import LockNotAvailable
from psycopg.rows import dict_row

from db.pool import JsonObject, Transaction

TABLES: tuple[LiteralString, ...] = ("memory_vectors", "entity_vectors")


class ModelInUse(TypedDict):
    """The active embedding model, the second one, or the one that is being filled."""

    id: int
    name: str
    dimensions: int
    asks: int | None
    state: str
    chosen: bool


class EmbeddingModelRow(ModelInUse):
    """An embedding model, and what waits for it."""

    waiting: int
    refused: int
    queued_at: datetime | None
    created_at: datetime
    dropped_at: datetime | None


class CorpusSize(TypedDict):
    """How much there is to embed."""

    memories: int
    entities: int


class DroppedVectors(TypedDict):
    """How many vectors were deleted, and where to go on."""

    namespace_id: int
    id: UUID
    dropped: int


async def list_embedding_models(tx: Transaction) -> list[EmbeddingModelRow]:
    """All models, the active one first, with what waits for each in the namespaces that the caller may read."""
    return await tx.rows(EmbeddingModelRow, "select * from loci.embedding_models order by state, id")


async def embedding_models_in_use(tx: Transaction) -> list[ModelInUse]:
    """The active model, the second one, and the one that is being filled, without counts."""
    return await tx.rows(
        ModelInUse,
        """select id, name, dimensions, asks, state, chosen from loci.embedding_models
           where state in ('active', 'second', 'filling') order by state, id""",
    )


async def corpus_size(tx: Transaction) -> CorpusSize:
    """How many memories and entities there are to embed, over all namespaces."""
    return await tx.row(
        CorpusSize,
        """select (select count(*) from loci_data.memories) as memories,
                  (select count(*) from loci_data.entities where merged_into is null) as entities""",
    )


async def sample_texts(tx: Transaction, *, limit: int) -> list[str]:
    """Some texts, of the namespaces that the caller may read, to measure a provider with."""
    return await tx.values(str, "select left(content, 30000) as text from loci_data.memories limit %(limit)s", limit=limit)


async def begin_reembedding(tx: Transaction, *, model: Mapping[str, object], chosen: bool, indexes: bool) -> int:
    """Begin to fill a model (name, dimensions, asks), or join in; its number. `indexes`: make them now, while it is empty."""
    return await tx.value(
        int,
        """select loci_api.begin_reembedding(%(name)s, %(dimensions)s, %(asks)s, %(chosen)s, %(indexes)s) as id""",
        **model,
        chosen=chosen,
        indexes=indexes,
    )


async def queue_reembedding(tx: Transaction, *, model: int, after: int | None) -> int | None:
    """Queue the next namespace after this one for the model; its number, None after the last."""
    return await tx.optional(
        int, "select loci_api.queue_reembedding(%(model)s::smallint, %(after)s) as id", model=model, after=after
    )


async def create_model_indexes(tx: Transaction, *, model: int) -> int:
    """Make the indexes that a model lacks, while writers of vectors wait; how many."""
    return await tx.value(int, "select loci_api.create_model_indexes(%(model)s::smallint) as made", model=model)


async def set_lock_timeout(tx: Transaction, *, seconds: float) -> None:
    """Give up after so many seconds of waiting for a lock, in this transaction."""
    await tx.run("select set_config('lock_timeout', %(limit)s, true) as set", limit=f"{round(1000 * seconds)}ms")


async def finish_reembedding(tx: Transaction, *, model: int) -> int:
    """Hold writers, and make a filled model the active one; how many still wait for it, 0 if it is active now."""
    return await tx.value(int, "select loci_api.finish_reembedding(%(model)s::smallint) as waiting", model=model)


async def cancel_reembedding(tx: Transaction) -> str | None:
    """Stop filling; the name of the model."""
    return await tx.optional(str, "select loci_api.cancel_reembedding() as name")


async def delete_retired_vectors(
    tx: Transaction, *, model: int, table: str, after: tuple[int, UUID], limit: int
) -> DroppedVectors | None:
    """Delete the next vectors of a retired model; None at the end."""
    return await tx.first(
        DroppedVectors,
        """select namespace_id, id, dropped
           from loci_api.delete_retired_vectors(%(model)s::smallint, %(table)s, %(after)s, %(after_id)s, %(limit)s)""",
        model=model,
        table=table,
        after=after[0],
        after_id=after[1],
        limit=limit,
    )


async def clear_model_queues(tx: Transaction, *, model: int) -> int:
    """Take the next of what waits for a retired model off the queues; how many."""
    return await tx.value(int, "select loci_api.clear_model_queues(%(model)s::smallint) as taken", model=model)


async def drop_retired_model(tx: Transaction, *, model: int) -> bool:
    """Drop the next index of a retired model; True when none is left."""
    return await tx.value(bool, "select loci_api.drop_retired_model(%(model)s::smallint) as gone", model=model)


class VectorIndex(TypedDict):
    """An index that a model has or lacks; `valid` None: there is none."""

    partition: str
    name: str
    valid: bool | None
    statement: str


class IndexBuilder:
    """A connection of the owner, outside any transaction: it builds and drops indexes while others read and write.

    On the other one a transaction holds the lock: of a table, so that it has no snapshot that the building would wait for.
    """

    def __init__(self, connection: AsyncConnection[JsonObject], holder: AsyncConnection[JsonObject]) -> None:
        self._connection = connection
        self._holder = holder

    async def try_lock(self) -> bool:
        """Become the one process that builds; asked again and again, because to wait for it would hold up the building itself."""
        try:
            await self._holder.execute("lock table loci_data.service_locks in share update exclusive mode nowait")
        except LockNotAvailable:
            await self._holder.rollback()
            return False
        return True

    async def release_lock(self) -> None:
        """Let another build."""
        await self._holder.rollback()

    async def list_indexes(self, model: int) -> list[VectorIndex]:
        """The indexes that a model has or lacks."""
        found = await (await self._connection.execute("select * from loci_api.vector_indexes(%s::smallint)", [model])).fetchall()
        return cast("list[VectorIndex]", found)

    async def build_index(self, index: VectorIndex) -> None:
        """Build one of them; what is left of an attempt that was cut short is dropped first."""
        if index["valid"] is not None:
            await self.drop_index(index)
        await self._connection.execute(sql.SQL(index["statement"]))

    async def drop_index(self, index: VectorIndex) -> None:
        """Drop one of them."""
        await self._connection.execute(
            sql.SQL("drop index concurrently if exists {}").format(sql.Identifier("loci_data", index["name"]))
        )


@asynccontextmanager
async def connect_index_builder(url: str) -> AsyncIterator[IndexBuilder]:
    """Connect as who migrates, and act as the owner."""
    async with await _open_connection(url) as connection, await _open_connection(url) as holder:
        for one in (connection, holder):
            await one.execute("set role loci_owner")
        await connection.execute("set statement_timeout = 0")
        await connection.execute(
            "select set_config('search_path', format('%I, pg_temp', n.nspname), false) "
            "from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"
        )
        await connection.execute("set maintenance_work_mem = '256MB'")
        await holder.execute("set idle_in_transaction_session_timeout = 0")
        await holder.set_autocommit(False)
        yield IndexBuilder(connection, holder)


async def _open_connection(url: str) -> AsyncConnection[JsonObject]:
    return await AsyncConnection[JsonObject].connect(
        url, autocommit=True, row_factory=dict_row, connect_timeout=10, application_name="loci reembed"
    )
