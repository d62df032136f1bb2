"""Contexts: wrappers of the SQL functions that begin one, gather it, and note what it shows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from db.pool import JsonObject, Transaction
from db.recall.search import Scope
from db.retain import UnsettledPair, parse_valid_from

MOMENTS = {
    **dict.fromkeys(
        ("profile", "memories"), ("valid_from", "valid_to", "recorded_at", "superseded_at", "last_observed_at", "updated_at")
    ),
    "turns": ("said_at",),
    **dict.fromkeys(("working_memory", "patrol", "subagents"), ("stored_at", "expires_at")),
}


@dataclass(frozen=True)
class ContextParts:
    """Collected parts of a context; lists are empty where not asked for.

    `profile` is what is known of the one who asks. That and `memories` are new to the session; `cursor` is the document number.
    `fallback`: nothing was found for the first context of a session, so these are its most important ones.
    """

    space: str
    first: bool
    fallback: bool
    held_back: int
    graph: JsonObject
    lists: dict[str, list[JsonObject]]


async def begin_context(tx: Transaction, *, session_id: str) -> None:
    """Send word, without waiting, that a context of a session begins: it is counted, and others of the session wait."""
    await tx.post("select loci_api.begin_context(%(namespace)s, %(session_id)s)", session_id=session_id)


async def context_parts(
    tx: Transaction,
    *,
    message: str | None,
    session_id: str | None,
    user: str | None,
    space: str | None,
    documents: list[int],
    sections: list[str],
    scope: Scope,
    repeat: bool = False,
    preview: bool = False,
) -> ContextParts:
    """Parts of a context beside the ranking: one row."""
    row = await tx.row(
        JsonObject,
        """select * from loci.context_parts(%(namespace)s, %(message)s, %(session_id)s, %(space)s, %(documents)s::bigint[],
           %(sections)s::text[], %(as_of)s, %(known_at)s, %(repeat)s, %(preview)s, %(user)s)""",
        preview=preview,
        user=user,
        message=message,
        session_id=session_id,
        space=space,
        documents=documents,
        sections=sections,
        as_of=scope.as_of,
        known_at=scope.known_at,
        repeat=repeat,
    )
    lists = {name: [_parse_times(item, keys) for item in row[name] or []] for name, keys in MOMENTS.items()}
    return ContextParts(row["space"], row["first"], row["fallback"], row["held_back"], row["graph"] or {}, lists)


async def unsettled_around(
    tx: Transaction, *, documents: list[int], user: str | None
) -> tuple[list[UnsettledPair], dict[int, list[str]]]:
    """Open pairs that concern a context, and by document number what the memories that it shows may contradict."""
    row = await tx.row(
        JsonObject,
        "select * from loci_api.context_unsettled(%(namespace)s, %(documents)s::bigint[], %(user)s)",
        documents=documents,
        user=user,
    )
    pairs: list[UnsettledPair] = row["pairs"] or []
    for pair in pairs:
        parse_valid_from(pair["newer"])
        parse_valid_from(pair["older"])
    return pairs, {int(document): others for document, others in (row["contradicts"] or {}).items()}


async def record_context(tx: Transaction, *, session_id: str, ids: list[str], entities: list[str]) -> set[str]:
    """Note that memories go into the context of a session, and touch entities; ids of the memories that are new to the session."""
    found = await tx.values(
        UUID,
        "select memory_id from loci_api.record_context(%(namespace)s, %(session_id)s, %(ids)s::uuid[], %(entities)s::uuid[])",
        session_id=session_id,
        ids=ids,
        entities=entities,
    )
    return set(map(str, found))


def _parse_times(item: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """Times that came inside JSON as times again, in UTC, so that they are shown as everywhere."""
    moments = {key: datetime.fromisoformat(item[key]).astimezone(UTC) for key in keys if item[key] is not None}
    return {**item, **moments}
