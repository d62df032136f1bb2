"""The tools of the reference MCP memory server (0.6): names, schemas, replies and texts as there."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import Field

from db.pool import Transaction
from loci.models.fields import Text
from service.mcp.profiles import graph
from service.mcp.profiles.profile import Loose, OwnTool, Profile, Resource, Work, own_tool
from service.mcp.result_texts import JsonObject, Shown, on_its_lines
from service.mcp.tool import Kind

NAME = "reference-memory"
DRAFT = "http://json-schema.org/draft-07/schema#"


class Entity(Loose):
    """A node."""

    name: Text
    entityType: Text  # noqa: N815 (the server's own name)
    observations: list[Text]


class Relation(Loose):
    """A triple."""

    from_: Text = Field(alias="from")
    to: Text
    relationType: Text  # noqa: N815


class Observations(Loose):
    """Observations to add to an entity."""

    entityName: Text  # noqa: N815
    contents: list[Text]


class Deletion(Loose):
    """Observations to take from an entity."""

    entityName: Text  # noqa: N815
    observations: list[Text]


class CreateEntities(Loose):
    """Entities to create."""

    entities: list[Entity]


class Relations(Loose):
    """Relations to create or to delete."""

    relations: list[Relation]


class AddObservations(Loose):
    """Observations to add."""

    observations: list[Observations]


class DeleteEntities(Loose):
    """Names of entities."""

    entityNames: list[Text]  # noqa: N815


class DeleteObservations(Loose):
    """Observations to delete."""

    deletions: list[Deletion]


class Nothing(Loose):
    """No arguments."""


class Query(Loose):
    """A text to look for."""

    query: Text


class Names(Loose):
    """Names of entities."""

    names: list[Text]


def _text_schema(description: str | None = None) -> JsonObject:
    return {"type": "string", **({"description": description} if description else {})}


def _texts_schema(description: str | None = None) -> JsonObject:
    return {"type": "array", "items": {"type": "string"}, **({"description": description} if description else {})}


def _object_schema(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list_of(item: JsonObject, description: str | None = None) -> JsonObject:
    return {"type": "array", "items": item, **({"description": description} if description else {})}


def _open_schema(schema: JsonObject) -> JsonObject:
    """The same as an input: there the server leaves unknown properties aside."""
    kept = {name: part for name, part in schema.items() if name != "additionalProperties"}
    return {name: _open_schema(part) if isinstance(part, dict) else part for name, part in kept.items()}


ENTITY = _object_schema(
    name=_text_schema("The name of the entity"),
    entityType=_text_schema("The type of the entity"),
    observations=_texts_schema("An array of observation contents associated with the entity"),
)
RELATION = _object_schema(
    **{
        "from": _text_schema("The name of the entity where the relation starts"),
        "to": _text_schema("The name of the entity where the relation ends"),
        "relationType": _text_schema("The type of the relation"),
    }
)
ADDED = _object_schema(
    entityName=_text_schema("The name of the entity to add the observations to"),
    contents=_texts_schema("An array of observation contents to add"),
)
DELETED = _object_schema(
    entityName=_text_schema("The name of the entity containing the observations"),
    observations=_texts_schema("An array of observations to delete"),
)
RESULT = _object_schema(entityName=_text_schema(), addedObservations=_texts_schema())
DONE = {"success": {"type": "boolean"}, "message": _text_schema()}
GRAPH = {"entities": _list_of(ENTITY), "relations": _list_of(RELATION)}


def _show_bare(field: str) -> Callable[[JsonObject], Shown]:
    """A reply whose text is the list alone."""
    return lambda reply: (_dump_json(reply[field]), reply)


def _show_all(reply: JsonObject) -> Shown:
    return _dump_json(reply), reply


def _show_message(reply: JsonObject) -> Shown:
    return reply["message"], reply


def _dump_json(value: Any) -> str:
    return on_its_lines(json.dumps(value, indent=2, ensure_ascii=False))


def _dump_models(models: list[Any]) -> list[JsonObject]:
    return [model.model_dump(by_alias=True) for model in models]


async def _create_entities(tx: Transaction, body: CreateEntities) -> JsonObject:
    return await graph.create_entities(tx, _dump_models(body.entities))


async def _create_relations(tx: Transaction, body: Relations) -> JsonObject:
    return await graph.create_relations(tx, _dump_models(body.relations))


async def _add_observations(tx: Transaction, body: AddObservations) -> JsonObject:
    return await graph.add_observations(tx, _dump_models(body.observations))


async def _delete_entities(tx: Transaction, body: DeleteEntities) -> JsonObject:
    return await graph.delete_entities(tx, body.entityNames)


async def _delete_observations(tx: Transaction, body: DeleteObservations) -> JsonObject:
    return await graph.delete_observations(tx, _dump_models(body.deletions))


async def _delete_relations(tx: Transaction, body: Relations) -> JsonObject:
    return await graph.delete_relations(tx, _dump_models(body.relations))


async def _read_graph(tx: Transaction, _: Nothing) -> JsonObject:
    return await graph.read_graph(tx)


async def _search_nodes(tx: Transaction, body: Query) -> JsonObject:
    return await graph.search_nodes(tx, body.query)


async def _open_nodes(tx: Transaction, body: Names) -> JsonObject:
    return await graph.open_nodes(tx, body.names)


def _make_tool(
    name: str,
    kind: Kind,
    description: str,
    arguments: type[Loose],
    work: Work,
    show: Callable[[JsonObject], Shown],
    takes: JsonObject,
    gives: JsonObject,
) -> OwnTool:
    schema, output = ({"$schema": DRAFT, **_object_schema(**properties)} for properties in (takes, gives))
    if not takes:
        schema.pop("required")
    schema = _open_schema(schema)
    return own_tool(NAME, name, kind, description, arguments, work, show, schema=schema, output=output)


OWN = (
    _make_tool(
        "create_entities", "adds", "Create multiple new entities in the knowledge graph", CreateEntities, _create_entities,
        _show_bare("entities"), {"entities": _list_of(ENTITY)}, {"entities": _list_of(ENTITY)},
    ),
    _make_tool(
        "create_relations", "adds",
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
        Relations, _create_relations, _show_bare("relations"), {"relations": _list_of(RELATION)}, {"relations": _list_of(RELATION)},
    ),
    _make_tool(
        "add_observations", "adds", "Add new observations to existing entities in the knowledge graph", AddObservations,
        _add_observations, _show_bare("results"), {"observations": _list_of(ADDED)}, {"results": _list_of(RESULT)},
    ),
    _make_tool(
        "delete_entities", "deletes", "Delete multiple entities and their associated relations from the knowledge graph",
        DeleteEntities, _delete_entities, _show_message, {"entityNames": _texts_schema("An array of entity names to delete")}, DONE,
    ),
    _make_tool(
        "delete_observations", "deletes", "Delete specific observations from entities in the knowledge graph",
        DeleteObservations, _delete_observations, _show_message, {"deletions": _list_of(DELETED)}, DONE,
    ),
    _make_tool(
        "delete_relations", "deletes", "Delete multiple relations from the knowledge graph", Relations, _delete_relations,
        _show_message, {"relations": _list_of(RELATION, "An array of relations to delete")}, DONE,
    ),
    _make_tool("read_graph", "looks", "Read the entire knowledge graph", Nothing, _read_graph, _show_all, {}, GRAPH),
    _make_tool(
        "search_nodes", "looks", "Search for nodes in the knowledge graph based on a query", Query, _search_nodes, _show_all,
        {"query": _text_schema("The search query to match against entity names, types, and observation content")}, GRAPH,
    ),
    _make_tool(
        "open_nodes", "looks", "Open specific nodes in the knowledge graph by their names", Names, _open_nodes, _show_all,
        {"names": _texts_schema("An array of entity names to retrieve")}, GRAPH,
    ),
)  # fmt: skip
PROFILE = Profile(
    NAME,
    "memory-server",
    "Loci as the reference memory server",
    {own.tool.name: own.tool for own in OWN},
    resource=Resource(
        "memory://knowledge-graph",
        "knowledge-graph",
        "Knowledge Graph",
        "The full knowledge graph with all entities and relations",
        "read_graph",
    ),
)
