"""The tools of the reference MCP memory server over Loci: entities, observations and relations.

An observation is a memory of source mcp-memory about its entity, in a lineage that follows from both; so an import of that server's
file and its tools mean the same. Each function is the work of one transaction.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import errors as pg

from db import memories
from db.errors import FieldError, Invalid, NotFound
from db.graph import edges, entities, reference_memory
from db.graph.reference_memory import ObservedGraph
from db.pool import JsonObject, Transaction
from loci.models.types import canonical_type
from service.transfer.foreign.values import choose_subject, edge_type, entity_type, join_category_path, shorten_label

SOURCE = "mcp-memory"


async def read_graph(tx: Transaction) -> JsonObject:
    """Everything."""
    return _show_graph(await reference_memory.observed_graph(tx))


async def search_nodes(tx: Transaction, query: str) -> JsonObject:
    """Entities that have a text in name, type or an observation, and their relations."""
    return _show_graph(await reference_memory.observed_graph(tx, query=query))


async def open_nodes(tx: Transaction, names: list[str]) -> JsonObject:
    """Entities by name, and their relations; a name that only relations use is no entity."""
    shown = _show_graph(await reference_memory.observed_graph(tx, names=names))
    found = {entity["name"] for entity in shown["entities"]}
    return {**shown, "relations": [relation for relation in shown["relations"] if {relation["from"], relation["to"]} & found]}


async def create_entities(tx: Transaction, stated: list[JsonObject]) -> JsonObject:
    """Create those whose names are not known; these alone are returned, as they were stated."""
    known = await reference_memory.observed_graph(tx, names=[_require_name(entity["name"]) for entity in stated])
    seen = {_fold_name(name) for entity in known["entities"] if entity["stated"] for name in entity["asked"]}
    fresh = []
    for entity in stated:
        if (folded := _fold_name(_require_name(entity["name"]))) not in seen:
            seen.add(folded)
            fresh.append(entity)
    if fresh:
        written = await entities.upsert_entities(tx, entities=[_make_entity(entity) for entity in fresh])
        said = [(row["name"], new["observations"], new["entityType"]) for row, new in zip(written, fresh, strict=True)]
        await _observe_entities(tx, said)
    return {"entities": fresh}


async def create_relations(tx: Transaction, stated: list[JsonObject]) -> JsonObject:
    """Create those that are not there; these alone are returned, as they were stated."""
    if not stated:
        return {"relations": []}
    written = await edges.observe_edges(tx, edges=[_make_edge(relation) for relation in stated])
    return {"relations": [stated[row["ordinal"] - 1] for row in written if row["created"]]}


async def add_observations(tx: Transaction, stated: list[JsonObject]) -> JsonObject:
    """Add to entities what they do not say yet. Raises NotFound for an entity that is not there."""
    known = await reference_memory.observed_graph(tx, names=[_require_name(item["entityName"]) for item in stated])
    by_name = {name: entity for entity in known["entities"] if entity["stated"] for name in entity["asked"]}
    results, wanted = [], []
    for item in stated:
        entity = by_name.get(_require_name(item["entityName"]))
        if entity is None:
            said = f"Entity with name {item['entityName']} not found"
            raise NotFound(said, [FieldError("observations", said)])
        there = entity.setdefault("there", {observation["content"] for observation in entity["observations"]})
        added = [content for content in item["contents"] if content not in there]
        there.update(added)
        wanted.append((entity["name"], added, entity["type"]))
        results.append({"entityName": item["entityName"], "addedObservations": added})
    await _observe_entities(tx, wanted)
    return {"results": results}


async def delete_entities(tx: Transaction, names: list[str]) -> JsonObject:
    """Forget entities with their observations, and end their relations; names that are not there are no error."""
    known = await reference_memory.observed_graph(tx, names=[_require_name(name) for name in names])
    with _beside_others():
        await memories.forget_memories(tx, ids=[o["id"] for entity in known["entities"] for o in entity["observations"]])
        for entity in known["entities"]:
            await entities.delete_entity(tx, ref=entity["id"])
    return _report_deletion("Entities")


async def delete_observations(tx: Transaction, stated: list[JsonObject]) -> JsonObject:
    """Forget observations that say exactly this."""
    known = await reference_memory.observed_graph(tx, names=[_require_name(item["entityName"]) for item in stated])
    gone = []
    for item in stated:
        for entity in known["entities"]:
            if _require_name(item["entityName"]) in entity["asked"]:
                gone += [o["id"] for o in entity["observations"] if o["content"] in item["observations"]]
    with _beside_others():
        await memories.forget_memories(tx, ids=gone)
    return _report_deletion("Observations")


async def delete_relations(tx: Transaction, stated: list[JsonObject]) -> JsonObject:
    """End these relations; those that are not there are no error."""
    known = await reference_memory.observed_graph(
        tx, names=[_require_name(end) for item in stated for end in (item["from"], item["to"])]
    )
    names = {asked: entity["name"] for entity in known["entities"] for asked in entity["asked"]}
    triples = {_comparable_triple(relation, names) for relation in stated}
    with _beside_others():
        for relation in known["relations"]:
            if _comparable_triple(relation, {}) in triples:
                await edges.delete_edge(tx, id=relation["id"])
    return _report_deletion("Relations")


@contextmanager
def _beside_others() -> Iterator[None]:
    """Things that others took away since it was read are gone: the transaction is tried again, and finds them gone."""
    try:
        yield
    except pg.NoDataFound as error:
        raise pg.SerializationFailure(error.diag.message_primary or "") from error


def _show_graph(graph: ObservedGraph) -> JsonObject:
    stated = [entity for entity in graph["entities"] if entity["stated"]]
    return {
        "entities": [
            {"name": e["name"], "entityType": e["type"], "observations": [o["content"] for o in e["observations"]]} for e in stated
        ],
        "relations": [{name: relation[name] for name in ("from", "to", "relationType")} for relation in graph["relations"]],
    }


async def _observe_entities(tx: Transaction, said: Iterable[tuple[str, list[str], str]]) -> None:
    """Write observations of entities: name, texts, type."""
    items = [_make_observation(name, text, kind) for name, texts, kind in said for text in dict.fromkeys(texts)]
    if items:
        await memories.remember(tx, items=items)


def _make_observation(name: str, text: str, kind: str) -> JsonObject:
    if not text.strip():
        raise Invalid("an observation must not be empty", [FieldError("observations", "must not be empty")])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    placed = {"category": path} if (path := join_category_path(kind)) else {}
    about = {"about": known} if (known := choose_subject(name)) else {}
    return {
        "content": text,
        "lineage": shorten_label(f"{SOURCE}/{name}/{digest}"),
        "source": SOURCE,
        "metadata": {"entity": name},
        "entities": [{"name": name}],
        **about,
        **placed,
    }


def _make_entity(stated: JsonObject) -> JsonObject:
    """An entity to write. Its type is kept as it was spelled, and as the database compares it."""
    kind = entity_type(stated["entityType"])
    typed = {"type": kind} if kind else {}
    return {"name": _require_name(stated["name"]), **typed, "metadata": {"entityType": stated["entityType"]}}


def _make_edge(stated: JsonObject) -> JsonObject:
    kind = _require_value(stated["relationType"], "relationType")
    ends = {"source": _require_name(stated["from"]), "target": _require_name(stated["to"])}
    return {**ends, "type": edge_type(kind), "metadata": {"relationType": kind}}


def _require_name(name: str) -> str:
    return shorten_label(_require_value(name, "name"))


def _require_value(value: str, field: str) -> str:
    if not value.strip():
        raise Invalid(f"{field} must not be empty", [FieldError(field, "must not be empty")])
    return value


def _fold_name(name: str) -> str:
    return " ".join(name.casefold().split())


def _comparable_triple(relation: Any, names: dict[str, str]) -> tuple[str, str, str]:
    """The key that two relations are compared by; `names` are the entities that names mean."""
    ends = [_require_name(relation[end]) for end in ("from", "to")]
    source, target = (_fold_name(names.get(end, end)) for end in ends)
    return source, canonical_type(edge_type(relation["relationType"])), target


def _report_deletion(what: str) -> JsonObject:
    return {"success": True, "message": f"{what} deleted successfully"}
