"""Names found in texts: the queue of memories to be read for them, and the mentions that come of it."""

from typing import TypedDict
from uuid import UUID

from db.pool import Transaction


class MemoryToName(TypedDict):
    """A memory that is to be read for names."""

    namespace_id: int
    memory_id: UUID
    content: str
    source: str | None
    language: str


async def claim_memories_to_name(tx: Transaction, *, limit: int) -> list[MemoryToName]:
    """Take up to `limit` memories off the name queue."""
    return await tx.rows(MemoryToName, "select * from loci_api.claim_memories_to_name(%(limit)s)", limit=limit)


async def store_found_names(tx: Transaction, *, found: list[tuple[int, UUID, str]], read: list[tuple[int, UUID]]) -> int:
    """Note names found in memories, as (namespace_id, memory_id, name), and the stated entities in those read.

    Returns the number of new mentions.
    """
    return await tx.value(
        int,
        """select loci_api.store_found_names(%(namespaces)s::int[], %(memories)s::uuid[], %(names)s::text[],
                                  %(read_namespaces)s::int[], %(read)s::uuid[]) as mentions""",
        namespaces=[namespace for namespace, _, _ in found],
        memories=[memory for _, memory, _ in found],
        names=[name for _, _, name in found],
        read_namespaces=[namespace for namespace, _ in read],
        read=[memory for _, memory in read],
    )
