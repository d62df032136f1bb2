"""The reference MCP memory server: JSON lines of entities and relations, or what its `read_graph` prints (server 0.6)."""

import hashlib
from collections.abc import Iterator

from service.transfer.foreign.items import first_of, iterate_items, make_records
from service.transfer.foreign.records import Edge, Entity, ImportNotes, Json, Memory, Record
from service.transfer.foreign.sources import Source
from service.transfer.foreign.values import WrongValue, edge_type, entity_type, join_category_path, list_of, shorten_label, text_of


def read_mcp_memory(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Entities with a memory for each observation, and edges for relations."""
    spellings: dict[str, str] = {}

    def make_record(place: str, item: Json) -> Iterator[Record]:
        kind = item.get("type")
        if kind == "entity" or (kind is None and ("observations" in item or "entityType" in item)):
            yield from _read_entity(place, item, notes, spellings)
        elif kind == "relation" or (kind is None and first_of(item, "relationType", "relation_type")):
            yield _read_relation(place, item)
        else:
            notes.count_omission(f"lines of type {kind!r}")

    for file in source.files:
        yield from make_records(iterate_items(file, notes, "entities", "relations"), notes, make_record)


def _read_entity(place: str, item: Json, notes: ImportNotes, spellings: dict[str, str]) -> Iterator[Record]:
    name = shorten_label(text_of(first_of(item, "name", "entityName", "id"), "name"))
    kind = first_of(item, "entityType", "entity_type") or None
    first = spellings.setdefault(" ".join(name.casefold().split()), name)
    if first != name:
        notes.add_remark(f"{name!r} and {first!r} are one entity here: names differ by more than case and spaces")
    observations = list_of(item.get("observations"), "observations")
    yield Entity(place, name, entity_type(kind))
    for index, said in enumerate(observations):
        here = f"{place}.observations[{index}]"
        try:
            text = text_of(said, "the observation")
        except WrongValue as error:
            notes.note_error(here, str(error))
            continue
        key = f"{name}/{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
        yield Memory(
            here,
            key,
            text,
            lineage=key,  # so that two entities may say the same
            category=join_category_path(kind),
            source="mcp-memory",
            about=name,
            metadata={"entity": name, "position": index},
            entities=[{"name": name}],
        )


def _read_relation(place: str, item: Json) -> Record:
    source, target = first_of(item, "from", "from_id"), first_of(item, "to", "to_id")
    kind = edge_type(first_of(item, "relationType", "relation_type"))
    return Edge(place, shorten_label(text_of(source, "from")), kind, shorten_label(text_of(target, "to")))
