"""Knowledge about one entity, from all subjects: statements that are sent together, in one round trip."""

from datetime import datetime
from typing import LiteralString, TypedDict

from db.facts import ListedAspect
from db.graph.edges import ListedEdge
from db.graph.entities import EntityRow, LatestEvent
from db.memories import MemoryRow
from db.pool import JsonObject, Transaction

ENTITY: LiteralString = "select * from loci.get_entity(%(namespace)s, %(ref)s, %(as_of)s, %(known_at)s)"
MEMORIES: LiteralString = """select * from loci.list_memories(%(namespace)s, jsonb_build_object('entity', %(ref)s::text), %(limit)s,
    null, %(as_of)s, %(known_at)s)"""
ASPECTS: LiteralString = "select * from loci.list_aspects(%(namespace)s, %(ref)s, %(as_of)s, %(known_at)s)"
EDGES: LiteralString = """select * from loci.list_edges(%(namespace)s, %(ref)s, null, false, %(as_of)s, 1000, null, %(known_at)s)
    order by confidence * strength desc, last_observed_at desc, id limit %(limit)s"""
EVENTS: LiteralString = "select * from loci.latest_events(%(namespace)s, %(ref)s, %(limit)s, %(as_of)s, %(known_at)s)"


class Overview(TypedDict):
    """An entity and what is known of it; of each list the rows that matter most."""

    entity: list[EntityRow]
    memories: list[MemoryRow]
    aspects: list[ListedAspect]
    edges: list[ListedEdge]
    timeline: list[LatestEvent]


async def entity_overview(tx: Transaction, *, ref: str, limit: int, as_of: datetime | None, known_at: datetime | None) -> Overview:
    """The entity with this id, name or alias at two moments, with memories that mention it, aspects, edges and last events."""
    given: JsonObject = {"ref": ref, "limit": limit, "as_of": as_of, "known_at": known_at}
    entity = await tx.send(EntityRow, ENTITY, **given)
    memories = await tx.send(MemoryRow, MEMORIES, **given)
    aspects = await tx.send(ListedAspect, ASPECTS, **given)
    edges = await tx.send(ListedEdge, EDGES, **given)
    events = await tx.send(LatestEvent, EVENTS, **given)
    return {
        "entity": await entity.all(),
        "memories": await memories.all(),
        "aspects": await aspects.all(),
        "edges": await edges.all(),
        "timeline": await events.all(),
    }
