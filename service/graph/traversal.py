"""Walks over the graph, and the graph around a message."""

from contextlib import suppress
from uuid import UUID

from psycopg.errors import InsufficientPrivilege

from db.graph import entities, traversal
from db.pool import JsonObject, Transaction
from loci.models.graph import GraphContextInput, TraverseInput
from service.graph.edges import round_confidence
from service.text.hidden_characters import show_hidden_characters


async def traverse(tx: Transaction, wanted: TraverseInput) -> JsonObject:
    """Walk the graph breadth first: `edges` and `entities` in the order of discovery, and the `reason`, all that cut it short."""
    rows = await traversal.traverse(tx, **wanted.model_dump())
    reason = (rows[0]["truncated"] if rows else None) or []
    names: dict[UUID, str | None] = await _resolve_starts(tx, wanted) if wanted.max_hops == 0 else {}
    for row in rows:
        names[row["source_id"]] = row["source"]
        if row["target_id"] is not None:
            names[row["target_id"]] = row["target"]
    hidden = {"truncated", "ordinal", *(() if wanted.paths else ("path",)), *(() if wanted.scores else ("score",))}
    return {
        "edges": [{name: value for name, value in round_confidence(row).items() if name not in hidden} for row in rows],
        "entities": [{"id": key, "name": name} for key, name in names.items()],
        "truncated": bool(reason),
        "reason": reason,
    }


async def _resolve_starts(tx: Transaction, wanted: TraverseInput) -> dict[UUID, str | None]:
    """Names of the entities that a walk starts at."""
    times = {"as_of": wanted.as_of, "known_at": wanted.known_at}
    named = [await entities.get_entity(tx, ref=ref, **times) for ref in wanted.start or ()]
    matched = await entities.match_entities(tx, text=wanted.text, **times) if wanted.text else []
    return {row["id"]: row["name"] for row in (*named, *matched) if row is not None}


async def graph_context(tx: Transaction, wanted: GraphContextInput) -> JsonObject:
    """The graph around the entities that a message names, which are touched; by who may only read, none is."""
    found = await traversal.graph_context(tx, **wanted.model_dump(exclude={"touch"}))
    ids = [UUID(entity["id"]) for entity in found["entities"]]
    if wanted.touch and ids:
        with suppress(InsufficientPrivilege):
            async with tx.savepoint():
                await entities.touch_entities(tx, ids=ids)
    rendered = found["rendered"] and show_hidden_characters(found["rendered"])  # a model reads it
    edges = [round_confidence(edge) for edge in found["edges"]]
    return {
        **found,
        "edges": edges,
        "rendered": rendered,
        "truncated": bool(found["truncated"]),
        "reason": found["truncated"] or [],
    }
