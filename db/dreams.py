"""Dreams: what passes that use a model read and write, their reports, and the signals that they learn from."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]

MOST_TURNS = 10_000  # that turns_to_read gives, whatever dream_limit says


async def last_pass(tx: Transaction, *, name: str, job_id: UUID) -> Row:
    """Whether the job has run this pass already, and the corpus that the newest run left less than its days ago: (done, corpus)."""
    return await tx.row(
        "select done, corpus from loci_api.last_pass(%(namespace)s, %(name)s, %(job_id)s)", name=name, job_id=job_id
    )


async def record_pass(tx: Transaction, *, job_id: UUID, name: str, report: Row) -> None:
    """Write the report of a pass, in the transaction of its changes. `report`: columns of pass_runs."""
    await tx.row(
        "select loci_api.record_pass(%(namespace)s, %(job_id)s, %(name)s, %(report)s)",
        job_id=job_id,
        name=name,
        report=Jsonb(report),
    )


async def list_passes(
    tx: Transaction, *, limit: int = 50, cursor: UUID | None = None, name: str | None = None, job_id: UUID | None = None
) -> list[Row]:
    """Reports of passes, newest first; `cursor` is the id of the last one of the page before."""
    return await tx.rows(
        "select * from loci.list_passes(%(namespace)s, %(limit)s, %(cursor)s, %(name)s, %(job_id)s)",
        limit=limit,
        cursor=cursor,
        name=name,
        job_id=job_id,
    )


async def namespace_activity(tx: Transaction) -> str | None:
    """What somebody is doing in the namespace; None: it is quiet."""
    row = await tx.row("select loci_api.namespace_activity(%(namespace)s) as busy")
    return row["busy"] or None


async def write_preferences(tx: Transaction, *, items: list[Row]) -> list[Row]:
    """Write inferred preferences; a row (action, id, superseded, guard, reason) an item, in order."""
    return await tx.rows("select * from loci_api.write_preferences(%(namespace)s, %(items)s) order by ordinal", items=Jsonb(items))


async def memories_to_consolidate(tx: Transaction) -> list[Row]:
    """Memories that a consolidation is shown, by category."""
    return await tx.rows("select * from loci_api.memories_to_consolidate(%(namespace)s)")


async def removable_memories(tx: Transaction) -> int:
    """How many memories one pass may remove now."""
    row = await tx.row("select loci_api.removable_memories(%(namespace)s) as removable")
    return int(row["removable"])


async def recent_signals(tx: Transaction) -> list[Row]:
    """Signals that a consolidation is shown, newest first: (id, kind, content, memory_id, at)."""
    return await tx.rows("select * from loci_api.recent_signals(%(namespace)s)")


async def apply_consolidation(tx: Transaction, *, plan: Row) -> Row:
    """Apply a plan: (changes, refused, stopped)."""
    return await tx.row("select * from loci_api.apply_consolidation(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def record_signals(tx: Transaction, *, signals: list[Row]) -> list[Row]:
    """Note signals, in order; with id and time."""
    return await tx.rows("select * from loci_api.record_signals(%(namespace)s, %(signals)s)", signals=Jsonb(signals))


async def list_signals(tx: Transaction, *, limit: int, cursor: str | None, kind: str | None, session_id: str | None) -> list[Row]:
    """Signals, newest first."""
    return await tx.rows(
        "select * from loci.list_signals(%(namespace)s, %(limit)s, %(cursor)s, %(kind)s, %(session_id)s)",
        limit=limit,
        cursor=cursor,
        kind=kind,
        session_id=session_id,
    )


async def memory_to_enrich(tx: Transaction, *, id: UUID) -> Row:
    """A saved memory with `is_named`, `is_protected`, `near` and `categories`; {}: there is nothing to expand any more."""
    return await tx.row(
        "select (memory).*, is_named, is_protected, near, categories from loci_api.memory_to_enrich(%(namespace)s, %(id)s)", id=id
    )


async def enrich_memory(tx: Transaction, *, id: UUID, entries: list[Row]) -> Row:
    """Put entries in the place of a saved memory: (action, ids of it and of what it became); {}: it was changed meanwhile."""
    return await tx.row("select * from loci_api.enrich_memory(%(namespace)s, %(id)s, %(entries)s)", id=id, entries=Jsonb(entries))


async def episodes_to_read(tx: Transaction, *, id: UUID, limit: int, length: int) -> list[Row]:
    """The episodes that a job learns from, the same at every call: (id, content, valid_from, session_id); content is cut."""
    return await tx.rows(
        "select * from loci_api.episodes_to_read(%(namespace)s, %(id)s, %(limit)s, %(length)s)", id=id, limit=limit, length=length
    )


async def entity_catalogue(tx: Transaction, *, texts: list[str], limit: int) -> list[Row]:
    """Entities that texts name, then the most mentioned: (id, name, type, aliases, mentions, named)."""
    return await tx.rows("select * from loci_api.entity_catalogue(%(namespace)s, %(texts)s, %(limit)s)", texts=texts, limit=limit)


async def apply_extraction(tx: Transaction, *, plan: Row) -> list[Row]:
    """Write entities and edges that a model has read: (kind, place, id, created, guard), one row an item."""
    return await tx.rows("select * from loci_api.apply_extraction(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def stale_entities(tx: Transaction, *, limit: int) -> list[Row]:
    """Entities that a pass may remove, oldest first: (id, name, type, mentions, created_at, updated_at, edges)."""
    return await tx.rows("select * from loci_api.stale_entities(%(namespace)s, %(limit)s)", limit=limit)


async def weak_edges(tx: Transaction, *, entities: list[UUID], limit: int) -> list[Row]:
    """Edges that a pass may remove, and those beside them (removable: false)."""
    return await tx.rows(
        "select * from loci.weak_edges(%(namespace)s, %(entities)s::uuid[], %(limit)s)", entities=entities, limit=limit
    )


async def apply_graph_cleanup(tx: Transaction, *, plan: Row) -> list[Row]:
    """Remove what the guards let go: (kind, id, guard, reason), one row a thing; kind stopped: nothing was removed, and why."""
    return await tx.rows("select * from loci_api.apply_graph_cleanup(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def pairs_to_judge(tx: Transaction) -> list[Row]:
    """Pairs of sibling facts on which all signals are silent and that no model has judged, newest first."""
    return await tx.rows("select * from loci_api.pairs_to_judge(%(namespace)s)")


async def apply_contradiction_verdicts(tx: Transaction, *, verdicts: list[Row]) -> list[Row]:
    """Record what a model said of pairs, and supersede or propose what may be; one row a contradiction."""
    return await tx.rows(
        "select * from loci_api.apply_contradiction_verdicts(%(namespace)s, %(verdicts)s)", verdicts=Jsonb(verdicts)
    )


async def turns_to_read(tx: Transaction, *, id: UUID) -> list[Row]:
    """The turns that a job learns from, the same at every call: (id, session_id, role, content, said_at)."""
    return await tx.rows("select * from loci_api.turns_to_read(%(namespace)s, %(id)s) order by id", id=id)
