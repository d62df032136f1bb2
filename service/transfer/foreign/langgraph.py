"""LangGraph's store: rows of its table as JSON lines or in SQLite, and items as its client gives them; LangMem's values in them."""

import json
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import each, first_of, values
from service.transfer.foreign.records import Json, Memory, Notes, Record
from service.transfer.foreign.sources import Source
from service.transfer.foreign.sqlite import MAGIC, store_rows
from service.transfer.foreign.values import WrongValue, category, end_of, label, moment, object_of, stated, text_of

TEXTS = ("content", "text", "memory", "data")
TRIPLE = ("subject", "predicate", "object")


def read(source: Source, notes: Notes) -> Iterator[Record]:
    """A memory in a lineage of namespace and key; a triple is an edge that the memory states."""

    def make(place: str, item: Json) -> Iterator[Record]:
        notes.lose("ttl_minutes", int(item.get("ttl_minutes") is not None))
        notes.lose("score", int(item.get("score") is not None))
        yield _memory(place, item)

    for file in source.files:
        found = store_rows(file) if file.head(16) == MAGIC else values(file, notes, "items", "store")
        yield from each(found, notes, make)


def _memory(place: str, item: Json) -> Memory:
    labels = _labels(item)
    key = text_of(item.get("key"), "key")
    raw = item.get("value")
    value = object_of(json.loads(raw) if isinstance(raw, (str, bytes)) and raw[:1] in ("{", b"{") else raw, "value")
    made, changed = moment(item.get("created_at"), "created_at"), moment(item.get("updated_at"), "updated_at")
    text, rest, edges = _said(value)
    return Memory(
        place,
        ".".join([*labels, key]),
        text,
        lineage="/".join([*labels, key]),
        category=category(*labels),
        valid_to=end_of(item.get("expires_at"), "expires_at"),
        made=made,
        changed=changed,
        metadata=stated(namespace=labels, key=key, value=rest),
        edges=edges,
        about=edges[0]["source"] if edges else None,
    )


def _labels(item: Json) -> list[str]:
    found = first_of(item, "prefix", "namespace")
    labels = found.split(".") if isinstance(found, str) else found
    if not isinstance(labels, list) or not labels or not all(isinstance(step, str) and step.strip() for step in labels):
        raise WrongValue(f"namespace: must be labels that are not empty, not {found!r}")
    return labels


def _said(value: Json) -> tuple[str, Json, list[Json]]:
    """A value as text, its other fields, and the edge that a triple is."""
    inner = value.get("content")
    if isinstance(inner, dict):
        if all(isinstance(inner.get(end), str) and inner[end].strip() for end in TRIPLE):
            edge = {"source": label(inner["subject"]), "type": inner["predicate"][:128], "target": label(inner["object"])}
            text = " ".join([inner["subject"], inner["predicate"].replace("_", " "), inner["object"]])
            context = inner.get("context")
            return f"{text} ({context})" if isinstance(context, str) and context else text, value, [edge]
        text, rest, _ = _said(inner)
        return text, {**value, "content": rest} if rest else {name: item for name, item in value.items() if name != "content"}, []
    for name in TEXTS:
        if isinstance(value.get(name), str) and value[name].strip():
            return value[name], {key: item for key, item in value.items() if key != name}, []
    lines = list(_texts(value))
    return ("\n".join(lines) if lines and not _plain(value) else json.dumps(value, ensure_ascii=False, default=str)), value, []


def _plain(value: Json) -> bool:
    """Whether it is a profile: keys with values, whose names say as much as the values."""
    return not any(
        isinstance(item, list) and any(isinstance(each, dict) for each in item) for item in value.values()
    ) and not isinstance(value.get("content"), list)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _texts(item)
