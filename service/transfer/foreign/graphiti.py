"""Graphiti and Zep: dumps by the usual convention, APOC lines of Neo4j, pages of Zep's lists. Their four times are Loci's two.

Tried with what Graphiti 0.31 and Zep's client 4.0 write.
"""

from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import first_of, is_list, iterate_items, make_records, preview_first_value
from service.transfer.foreign.records import Entity, ImportNotes, Json, Link, Memory, Record
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    edge_type,
    entity_type,
    join_category_path,
    keep_stated_fields,
    list_of,
    object_of,
    parse_moment,
    rest_of,
    shorten_label,
    text_of,
)

GROUPS = ("episodes", "entities", "nodes", "edges", "facts", "items")
OF_ZEP = {"graph_uuid", "user_uuid", "score", "relevance"}
OF_NODE = OF_ZEP | {
    "uuid",
    "name",
    "group_id",
    "labels",
    "summary",
    "created_at",
    "name_embedding",
    "attributes",
    "degree",
    "episode_uuids",
    "episode_uuids_truncated",
}
OF_EDGE = OF_ZEP | {
    "uuid",
    "name",
    "fact",
    "group_id",
    "source_node_uuid",
    "target_node_uuid",
    "episodes",
    "episode_uuids",
    "valid_at",
    "invalid_at",
    "created_at",
    "expired_at",
    "fact_embedding",
    "source_node_name",
    "target_node_name",
    "source_node_labels",
    "target_node_labels",
    "attributes",
    "scope",
    "hyperedge_uuid",
}


def read_graphiti(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Entities; episodes as memories of layer 3; each fact as a memory with its own validity, which is evidence of one edge."""
    nodes: dict[str, tuple[str, str | None]] = {}
    for kind in ("node", "episode", "edge"):
        for file in source.files:
            found = (
                (place, item)
                for place, item, its in _list_items(file, notes if kind == "edge" else ImportNotes())
                if its in (kind, "wrong")
            )
            makers = {"node": _Nodes(nodes, notes).make_entity, "episode": _read_episode, "edge": _Edges(nodes, notes).make_edge}
            yield from make_records((pair for pair in found if kind == "edge" or isinstance(pair[1], dict)), notes, makers[kind])


def _list_items(file: File, notes: ImportNotes) -> Iterator[tuple[str, Json, str]]:
    """Items with their kind: node, episode, edge; `wrong` is none of them."""
    start = preview_first_value(file)
    if isinstance(start, dict) and start.get("next_cursor"):
        notes.add_remark(f"{file.describe_place()} is one page of several: import the others too")
    listed = not is_list(file) and isinstance(start, dict) and any(isinstance(start.get(key), list) for key in GROUPS)
    for place, item in iterate_items(file, notes, *GROUPS):
        if not isinstance(item, dict):
            yield place, item, "wrong"
        elif item.get("type") in ("node", "relationship") and isinstance(item.get("properties"), dict):
            yield place, *_read_apoc_item(item, notes)
        else:
            group = place.rpartition(": ")[2].partition("[")[0] if listed else ""
            kind = (
                "episode"
                if group == "episodes" or "content" in item
                else "edge"
                if "source_node_uuid" in item or group in ("edges", "facts")
                else "node"
            )
            yield place, item, kind


def _read_apoc_item(item: Json, notes: ImportNotes) -> tuple[Json, str]:
    labels = item["labels"] if isinstance(item.get("labels"), list) else []
    properties = item["properties"]
    if item["type"] == "relationship":
        if item.get("label") == "RELATES_TO":
            return properties, "edge"
        notes.count_loss(f"relations {item.get('label')!r}, which follow from the facts")
        return properties, "other"
    for name, kind in (("Episodic", "episode"), ("Entity", "node")):
        if name in labels:
            return properties, kind
    notes.count_loss(f"nodes {labels!r}")
    return properties, "other"


class _Nodes:
    """Entities, and what they are called by their ids."""

    def __init__(self, nodes: dict[str, tuple[str, str | None]], notes: ImportNotes) -> None:
        self._nodes, self._notes = nodes, notes

    def make_entity(self, place: str, item: Json) -> Iterator[Record]:
        uuid, name = text_of(item.get("uuid"), "uuid"), shorten_label(text_of(item.get("name"), "name"))
        if uuid in self._nodes:
            raise WrongValue(f"uuid: {uuid!r} is there twice")
        labels = list_of(item.get("labels"), "labels")
        kind = next(
            (entity_type(each) for each in labels if isinstance(each, str) and each != "Entity" and not each.startswith("Entity_")),
            None,
        )
        self._nodes[uuid] = (name, kind)
        self._notes.count_loss("embeddings", int(item.get("name_embedding") is not None))
        about = keep_stated_fields(
            source_id=uuid, group_id=_graph_id(item), source_created_at=item.get("created_at"), **rest_of(item, OF_NODE)
        )
        more = item.get("attributes")
        yield Entity(place, name, kind, [], item.get("summary") or None, {**about, **(more if isinstance(more, dict) else {})})


def _graph_id(item: Json) -> Any:
    """The graph that it belongs to."""
    return first_of(item, "group_id", "graph_uuid")


def _read_episode(place: str, item: Json) -> Iterator[Record]:
    uuid, text = text_of(item.get("uuid"), "uuid"), text_of(item.get("content"), "content")
    said = parse_moment(first_of(item, "valid_at", "reference_time"), "valid_at")
    made = parse_moment(item.get("created_at"), "created_at")
    about = keep_stated_fields(name=item.get("name"), kind=item.get("source"), group_id=_graph_id(item))
    session = first_of(item, "thread_id", "thread_uuid", "session_id", "name")
    yield Memory(
        place,
        uuid,
        text,
        category=join_category_path(_graph_id(item)),
        layer=3,
        valid_from=said or made,
        made=made,
        source=first_of(item, "source_description", "role_name", "source"),
        session=session,
        metadata=about,
    )


class _Edges:
    """Facts: a memory each; they and their entities meet in one edge."""

    def __init__(self, nodes: dict[str, tuple[str, str | None]], notes: ImportNotes) -> None:
        self._nodes, self._notes = nodes, notes
        self._seen: set[str] = set()

    def make_edge(self, place: str, item: Json) -> Iterator[Record]:
        object_of(item)
        uuid, fact = text_of(item.get("uuid"), "uuid"), text_of(item.get("fact"), "fact")
        if uuid in self._seen:
            raise WrongValue(f"uuid: {uuid!r} is there twice")
        kind = edge_type(item.get("name"))
        ends = [self._read_edge_end(item, side) for side in ("source", "target")]
        start, end = parse_moment(item.get("valid_at"), "valid_at"), parse_moment(item.get("invalid_at"), "invalid_at")
        made = parse_moment(item.get("created_at"), "created_at")
        if start is not None and end is not None and end < start:
            raise WrongValue("invalid_at is before valid_at")
        self._seen.add(uuid)
        self._notes.count_loss("embeddings", int(item.get("fact_embedding") is not None))
        entities = [{"name": name, **({"type": its} if its else {})} for name, its in ends if name is not None]
        edge = {"source": ends[0][0], "type": kind, "target": ends[1][0]}
        whole = all(name is not None for name, _ in ends)
        if not whole:
            self._notes.add_remark(
                "facts whose entities are not in the file are memories without an edge: import the nodes with them"
            )
        episodes = first_of(item, "episodes", "episode_uuids") or []
        about = keep_stated_fields(
            group_id=_graph_id(item),
            episodes=episodes,
            relation=kind,
            source_expired_at=item.get("expired_at"),
            **rest_of(item, OF_EDGE),
        )
        more = item.get("attributes")
        yield Memory(
            place,
            uuid,
            fact,
            lineage=uuid,
            category=join_category_path(_graph_id(item), kind.lower()),
            valid_from=start,
            valid_to=end,
            made=made,
            changed=parse_moment(item.get("expired_at"), "expired_at"),
            source="graphiti",
            about=ends[0][0],
            entities=entities,
            edges=[edge] if whole else [],
            metadata={**about, **(more if isinstance(more, dict) else {})},
        )
        for episode in episodes if isinstance(episodes, list) else []:
            yield Link(place, uuid, str(episode), "stated_in")

    def _read_edge_end(self, item: Json, side: str) -> tuple[str | None, str | None]:
        uuid, name = item.get(f"{side}_node_uuid"), item.get(f"{side}_node_name")
        if isinstance(uuid, str) and uuid in self._nodes:
            return self._nodes[uuid]
        if isinstance(name, str) and name.strip():
            kinds = [each for each in item.get(f"{side}_node_labels") or [] if isinstance(each, str) and each != "Entity"]
            return shorten_label(name), entity_type(kinds[0]) if kinds else None
        if self._nodes:
            raise WrongValue(f"{side}_node_uuid: {uuid!r} is no entity of the file")
        return None, None


__all__ = ["read_graphiti"]
