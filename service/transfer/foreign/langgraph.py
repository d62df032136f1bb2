"""LangGraph's store: rows of its table as JSON lines or in SQLite, and items as its client gives them; LangMem's values in them."""

import json
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.items import first_of, iterate_items, make_records
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record
from service.transfer.foreign.sources import Source
from service.transfer.foreign.sqlite import MAGIC, store_rows
from service.transfer.foreign.values import (
    WrongValue,
    end_of,
    join_category_path,
    keep_stated_fields,
    object_of,
    parse_moment,
    shorten_label,
    text_of,
)

TEXTS = ("content", "text", "memory", "data")
TRIPLE = ("subject", "predicate", "object")


def read_langgraph(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """A memory in a lineage of namespace and key; a triple is an edge that the memory states."""

    def make_record(place: str, item: Json) -> Iterator[Record]:
        notes.count_loss("ttl_minutes", int(item.get("ttl_minutes") is not None))
        notes.count_loss("score", int(item.get("score") is not None))
        yield _read_memory(place, item)

    for file in source.files:
        found = store_rows(file) if file.read_head(16) == MAGIC else iterate_items(file, notes, "items", "store")
        yield from make_records(found, notes, make_record)


def _read_memory(place: str, item: Json) -> Memory:
    labels = _namespace_labels(item)
    key = text_of(item.get("key"), "key")
    raw = item.get("value")
    value = object_of(json.loads(raw) if isinstance(raw, (str, bytes)) and raw[:1] in ("{", b"{") else raw, "value")
    made, changed = parse_moment(item.get("created_at"), "created_at"), parse_moment(item.get("updated_at"), "updated_at")
    text, rest, edges = _split_value(value)
    return Memory(
        place,
        ".".join([*labels, key]),
        text,
        lineage="/".join([*labels, key]),
        category=join_category_path(*labels),
        valid_to=end_of(item.get("expires_at"), "expires_at"),
        made=made,
        changed=changed,
        metadata=keep_stated_fields(namespace=labels, key=key, value=rest),
        edges=edges,
        about=edges[0]["source"] if edges else None,
    )


def _namespace_labels(item: Json) -> list[str]:
    found = first_of(item, "prefix", "namespace")
    labels = found.split(".") if isinstance(found, str) else found
    if not isinstance(labels, list) or not labels or not all(isinstance(step, str) and step.strip() for step in labels):
        raise WrongValue(f"namespace: must be labels that are not empty, not {found!r}")
    return labels


def _split_value(value: Json) -> tuple[str, Json, list[Json]]:
    """A value as text, its other fields, and the edge of a triple."""
    inner = value.get("content")
    if isinstance(inner, dict):
        if all(isinstance(inner.get(end), str) and inner[end].strip() for end in TRIPLE):
            edge = {
                "source": shorten_label(inner["subject"]),
                "type": inner["predicate"][:128],
                "target": shorten_label(inner["object"]),
            }
            text = " ".join([inner["subject"], inner["predicate"].replace("_", " "), inner["object"]])
            context = inner.get("context")
            return f"{text} ({context})" if isinstance(context, str) and context else text, value, [edge]
        text, rest, _ = _split_value(inner)
        return text, {**value, "content": rest} if rest else {name: item for name, item in value.items() if name != "content"}, []
    for name in TEXTS:
        if isinstance(value.get(name), str) and value[name].strip():
            return value[name], {key: item for key, item in value.items() if key != name}, []
    lines = list(_collect_texts(value))
    return ("\n".join(lines) if lines and not _is_profile(value) else json.dumps(value, ensure_ascii=False, default=str)), value, []


def _is_profile(value: Json) -> bool:
    """Whether it is a profile: keys with values, whose names say as much as the values."""
    return not any(
        isinstance(item, list) and any(isinstance(each, dict) for each in item) for item in value.values()
    ) and not isinstance(value.get("content"), list)


def _collect_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _collect_texts(item)
