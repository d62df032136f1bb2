"""Dreams: what passes that use a model read and write, their reports, and the signals that they learn from."""

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.memories import MemoryRow
from db.pool import JsonObject, Transaction


class LastPass(TypedDict):
    """Whether a job has run a pass already and left something for another, and the corpora that runs left."""

    done: bool
    more: bool
    shown: int
    corpora: list[str]


# The report of a pass. `pass` is a word of the language, so it is no class.
PassRow = TypedDict(
    "PassRow",
    {
        "id": UUID,
        "job_id": UUID,
        "pass": str,
        "outcome": str,
        "operation_id": UUID | None,
        "started_at": datetime,
        "finished_at": datetime,
        "seen": int,
        "proposed": int,
        "applied": int,
        "refused": list[JsonObject],
        "changes": list[JsonObject],
        "error": str | None,
    },
)


class PreferenceOutcome(TypedDict):
    """Outcome for an inferred preference."""

    ordinal: int
    action: str
    id: UUID | None
    superseded: UUID | None
    guard: str | None
    reason: str | None


class MemoryToConsolidate(TypedDict):
    """A memory that a consolidation is shown."""

    id: UUID
    content: str
    category: str
    tags: list[str]
    importance: float
    kept: bool
    created_at: datetime
    updated_at: datetime


class RecentSignal(TypedDict):
    """A signal that a consolidation is shown."""

    id: UUID
    kind: str
    content: str
    memory_id: UUID | None
    at: datetime


class Consolidated(TypedDict):
    """Changes of a consolidation, and the guards that refused the rest."""

    changes: list[JsonObject]
    refused: list[JsonObject]
    stopped: str | None


class SignalRow(TypedDict):
    """A signal."""

    id: UUID
    kind: str
    content: str
    session_id: str | None
    memory_id: UUID | None
    agent_id: UUID | None
    at: datetime


class ListedSignal(SignalRow):
    """A signal and its place in the list."""

    cursor: str


class MemoryToEnrich(MemoryRow):
    """A saved memory, and what a model is told about it."""

    is_named: bool
    is_protected: bool
    near: list[JsonObject]
    categories: list[str]


class EnrichedMemory(TypedDict):
    """Outcome for a memory that was enriched."""

    action: str
    ids: list[UUID]


class Episode(TypedDict):
    """An episode that a job learns from; its content is cut."""

    id: UUID
    content: str
    valid_from: datetime
    session_id: str | None


class CatalogueEntity(TypedDict):
    """An entity that a reader of texts should know."""

    id: UUID
    name: str
    type: str
    aliases: list[str]
    mentions: int
    named: bool


class ExtractionOutcome(TypedDict):
    """Outcome for an entity or an edge that a model has read."""

    kind: str
    place: int
    id: UUID | None
    created: bool | None
    guard: str | None


class StaleEntity(TypedDict):
    """An entity that a pass may remove."""

    id: UUID
    name: str
    type: str
    mentions: int
    created_at: datetime
    updated_at: datetime
    edges: int


class WeakEdge(TypedDict):
    """An edge that a pass may remove, or one beside it."""

    id: UUID
    source: str
    type: str
    target: str | None
    literal: str | None
    confidence: float
    effective: float
    observations: int
    first_observed_at: datetime
    last_observed_at: datetime
    valid_to: datetime | None
    updated_at: datetime
    removable: bool


class CleanupOutcome(TypedDict):
    """Outcome for an entity or an edge that was to be removed."""

    kind: str
    id: UUID
    guard: str | None


class RemovalAllowances(TypedDict):
    """How many memories, edges and entities a pass may remove."""

    memories: int
    edges: int
    entities: int


class FactPair(TypedDict):
    """Two sibling facts that a model is asked about."""

    older_id: UUID
    newer_id: UUID
    entity: str
    aspect: str
    single_valued: bool
    older: str
    older_from: datetime
    older_to: datetime | None
    newer: str
    newer_from: datetime
    newer_to: datetime | None


class VerdictOutcome(TypedDict):
    """Outcome for a contradiction that a model saw."""

    older_id: UUID
    newer_id: UUID
    guard: str | None
    supersession_id: UUID | None
    status: str | None
    held: str | None


class TurnToRead(TypedDict):
    """A turn that a pass learns from; how often an answer failed for it, and whether the log holds more than these."""

    id: int
    session_id: str
    role: str
    content: str
    said_at: datetime
    failed_reads: int
    more: bool


async def last_pass(tx: Transaction, *, name: str, job_id: UUID) -> LastPass:
    """Whether the job has run this pass already and left something, and the corpora that its recent runs left."""
    return await tx.row(
        LastPass,
        "select done, more, shown, corpora from loci_api.last_pass(%(namespace)s, %(name)s, %(job_id)s)",
        name=name,
        job_id=job_id,
    )


async def record_pass(
    tx: Transaction, *, job_id: UUID, name: str, report: JsonObject, turns: list[int], episodes: list[UUID]
) -> None:
    """Write the report of a pass, in the transaction of its changes, and what it has read. `report`: columns of pass_runs."""
    await tx.run(
        "select loci_api.record_pass(%(namespace)s, %(job_id)s, %(name)s, %(report)s, %(turns)s::bigint[], %(episodes)s::uuid[])",
        job_id=job_id,
        name=name,
        report=Jsonb(report),
        turns=turns,
        episodes=episodes,
    )


async def record_failed_read(tx: Transaction, *, turns: list[int], episodes: list[UUID]) -> None:
    """Count an answer that was none, for what the model was shown."""
    await tx.run(
        "select loci_api.record_failed_read(%(namespace)s, %(turns)s::bigint[], %(episodes)s::uuid[])",
        turns=turns,
        episodes=episodes,
    )


async def list_passes(
    tx: Transaction, *, limit: int = 50, cursor: UUID | None = None, name: str | None = None, job_id: UUID | None = None
) -> list[PassRow]:
    """Reports of passes, newest first; `cursor` is the id of the last one of the page before."""
    return await tx.rows(
        PassRow,
        "select * from loci.list_passes(%(namespace)s, %(limit)s, %(cursor)s, %(name)s, %(job_id)s)",
        limit=limit,
        cursor=cursor,
        name=name,
        job_id=job_id,
    )


async def namespace_activity(tx: Transaction) -> str | None:
    """Activity in the namespace; None: it is quiet."""
    return await tx.optional(str, "select loci_api.namespace_activity(%(namespace)s) as busy") or None


async def write_preferences(tx: Transaction, *, items: list[JsonObject]) -> list[PreferenceOutcome]:
    """Write inferred preferences; a row (action, id, superseded, guard, reason) an item, in order."""
    return await tx.rows(
        PreferenceOutcome, "select * from loci_api.write_preferences(%(namespace)s, %(items)s) order by ordinal", items=Jsonb(items)
    )


async def memories_to_consolidate(tx: Transaction) -> list[MemoryToConsolidate]:
    """Memories that a consolidation is shown, by category."""
    return await tx.rows(MemoryToConsolidate, "select * from loci_api.memories_to_consolidate(%(namespace)s)")


async def removable_memories(tx: Transaction) -> int:
    """How many memories a model may end at once."""
    return await tx.value(int, "select loci_api.removable_memories(%(namespace)s) as removable")


async def removal_allowances(tx: Transaction) -> RemovalAllowances:
    """How many memories, edges and entities a pass may remove now."""
    return await tx.row(RemovalAllowances, "select * from loci_api.removal_allowances(%(namespace)s)")


async def recent_signals(tx: Transaction) -> list[RecentSignal]:
    """Signals that a consolidation is shown, newest first."""
    return await tx.rows(RecentSignal, "select * from loci_api.recent_signals(%(namespace)s)")


async def apply_consolidation(tx: Transaction, *, plan: JsonObject) -> Consolidated:
    """Apply a plan."""
    return await tx.row(Consolidated, "select * from loci_api.apply_consolidation(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def record_signals(tx: Transaction, *, signals: list[JsonObject]) -> list[SignalRow]:
    """Note signals, in order; with id and time."""
    return await tx.rows(SignalRow, "select * from loci_api.record_signals(%(namespace)s, %(signals)s)", signals=Jsonb(signals))


async def list_signals(
    tx: Transaction, *, limit: int, cursor: str | None, kind: str | None, session_id: str | None
) -> list[ListedSignal]:
    """Signals, newest first."""
    return await tx.rows(
        ListedSignal,
        "select * from loci.list_signals(%(namespace)s, %(limit)s, %(cursor)s, %(kind)s, %(session_id)s)",
        limit=limit,
        cursor=cursor,
        kind=kind,
        session_id=session_id,
    )


async def memory_to_enrich(tx: Transaction, *, id: UUID) -> MemoryToEnrich | None:
    """A saved memory with `is_named`, `is_protected`, `near` and `categories`; None: there is nothing to expand any more."""
    return await tx.first(
        MemoryToEnrich,
        "select (memory).*, is_named, is_protected, near, categories from loci_api.memory_to_enrich(%(namespace)s, %(id)s)",
        id=id,
    )


async def enrich_memory(tx: Transaction, *, id: UUID, entries: list[JsonObject]) -> EnrichedMemory | None:
    """Put entries in the place of a saved memory: (action, ids of it and of what it became); None: it was changed meanwhile."""
    return await tx.first(
        EnrichedMemory, "select * from loci_api.enrich_memory(%(namespace)s, %(id)s, %(entries)s)", id=id, entries=Jsonb(entries)
    )


async def episodes_to_read(tx: Transaction, *, id: UUID, limit: int, length: int, failed: int | None) -> list[Episode]:
    """Episodes that no extraction has read; content is cut. `failed`: those that an answer failed for so often."""
    return await tx.rows(
        Episode,
        "select * from loci_api.episodes_to_read(%(namespace)s, %(id)s, %(limit)s, %(length)s, %(failed)s::smallint)",
        id=id,
        limit=limit,
        length=length,
        failed=failed,
    )


async def entity_catalogue(tx: Transaction, *, texts: list[str], limit: int) -> list[CatalogueEntity]:
    """Entities that texts name, then the most mentioned."""
    return await tx.rows(
        CatalogueEntity, "select * from loci_api.entity_catalogue(%(namespace)s, %(texts)s, %(limit)s)", texts=texts, limit=limit
    )


async def apply_extraction(tx: Transaction, *, plan: JsonObject) -> list[ExtractionOutcome]:
    """Write entities and edges that a model has read, one row an item."""
    return await tx.rows(ExtractionOutcome, "select * from loci_api.apply_extraction(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def stale_entities(tx: Transaction, *, limit: int) -> list[StaleEntity]:
    """Entities that a pass may remove, oldest first."""
    return await tx.rows(StaleEntity, "select * from loci_api.stale_entities(%(namespace)s, %(limit)s)", limit=limit)


async def weak_edges(tx: Transaction, *, entities: list[UUID], limit: int) -> list[WeakEdge]:
    """Edges that a pass may remove, and those beside them (removable: false)."""
    return await tx.rows(
        WeakEdge, "select * from loci.weak_edges(%(namespace)s, %(entities)s::uuid[], %(limit)s)", entities=entities, limit=limit
    )


async def apply_graph_cleanup(tx: Transaction, *, plan: JsonObject) -> list[CleanupOutcome]:
    """Remove what the guards let go, one row a thing."""
    return await tx.rows(CleanupOutcome, "select * from loci_api.apply_graph_cleanup(%(namespace)s, %(plan)s)", plan=Jsonb(plan))


async def pairs_to_judge(tx: Transaction) -> list[FactPair]:
    """Pairs of sibling facts on which all signals are silent and that no model has judged, newest first."""
    return await tx.rows(FactPair, "select * from loci_api.pairs_to_judge(%(namespace)s)")


async def apply_contradiction_verdicts(tx: Transaction, *, verdicts: list[JsonObject]) -> list[VerdictOutcome]:
    """Record what a model said of pairs, and supersede or propose what may be; one row a contradiction."""
    return await tx.rows(
        VerdictOutcome, "select * from loci_api.apply_contradiction_verdicts(%(namespace)s, %(verdicts)s)", verdicts=Jsonb(verdicts)
    )


async def turns_to_read(tx: Transaction, *, id: UUID, name: str) -> list[TurnToRead]:
    """Turns of the log that a pass has not read, the oldest first."""
    return await tx.rows(
        TurnToRead, "select * from loci_api.turns_to_read(%(namespace)s, %(id)s, %(name)s) order by id", id=id, name=name
    )
