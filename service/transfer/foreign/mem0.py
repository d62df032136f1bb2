"""mem0: pages of get_all and of the platform, rows of its pgvector table, its old graph, and blocks of its plugin's Markdown."""

from collections.abc import Iterator

from service.transfer.foreign.items import each, first_of, is_list, preview, values
from service.transfer.foreign.markdown import front_matter
from service.transfer.foreign.records import Edge, Entity, Json, Link, Memory, Notes, Record
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    category,
    edge_type,
    end_of,
    entity_type,
    label,
    moment,
    object_of,
    rest_of,
    text_of,
    words_of,
)
from service.transfer.foreign.whose import said_of_user

LISTS = ("results", "memories", "items")
TEXTS = ("memory", "data", "text", "content")
SOURCES = ("agent_id", "actor_id", "app_id")
OWN = {
    *TEXTS,
    *SOURCES,
    "id",
    "hash",
    "text_lemmatized",
    "score",
    "vector",
    "created_at",
    "updated_at",
    "run_id",
    "session_id",
    "expiration_date",
    "categories",
    "metadata",
    "replaced_by",
}


def read(source: Source, notes: Notes) -> Iterator[Record]:
    """Memories, each in a lineage of its id; what was replaced there is over; entities; the relations of the old graph."""
    for file in source.files:
        if file.head(8).lstrip().startswith(b"---"):
            yield from _blocks(file, notes)
    files = [file for file in source.files if not file.head(8).lstrip().startswith(b"---")]
    mentions = _mentions(files)
    for file in files:
        yield from each(values(file, notes, *LISTS), notes, lambda place, item: _item(place, item, notes, mentions))
        if not is_list(file) and isinstance(start := preview(file), dict) and set(LISTS) & start.keys():
            relations = enumerate(file.items("relations.item"))
            yield from each(((file.place(f"relations[{n}]"), item) for n, item in relations), notes, _relation)
            if start.get("next"):
                notes.remark(f"{file.place()} is one page of several: import the others too")


def _mentions(files: list[File]) -> dict[str, list[str]]:
    """Which entities mention a memory, by the rows of the entity collection."""
    mentions: dict[str, list[str]] = {}
    silent = Notes()
    for file in files:
        for _, item in values(file, silent, *LISTS):
            if not isinstance(item, dict):
                continue
            payload = item.get("payload")
            if isinstance(payload, dict) and "entity_type" in payload and isinstance(payload.get("data"), str):
                linked_ids = payload.get("linked_memory_ids")
                for linked in linked_ids if isinstance(linked_ids, list) else []:
                    mentions.setdefault(str(linked), []).append(label(payload["data"]))
    return mentions


def _item(place: str, item: Json, notes: Notes, mentions: dict[str, list[str]]) -> Iterator[Record]:
    if "payload" in item:
        payload = object_of(item["payload"], "payload")
        if "entity_type" in payload:
            yield Entity(place, label(text_of(payload.get("data"), "data")), entity_type(payload["entity_type"]))
            return
        item = {**payload, "id": item.get("id")}
    key = first_of(item, "id")
    words = first_of(item, *TEXTS)
    if words is None:
        notes.skip("rows without a text")
        return
    text = text_of(words, "memory")
    key = text_of(key, "id")
    metadata = object_of(item.get("metadata") or {}, "metadata")
    made, changed = moment(item.get("created_at"), "created_at"), moment(item.get("updated_at"), "updated_at")
    newer = _text(item.get("replaced_by"))
    end = end_of(item.get("expiration_date"), "expiration_date")
    other = first_of(item, *SOURCES)
    source, about = said_of_user(text, item.get("user_id"), other if isinstance(other, str) else None)
    for lost in ("hash", "text_lemmatized", "score", "vector"):
        notes.lose(lost, int(item.get(lost) is not None))
    yield Memory(
        place,
        key,
        text,
        lineage=key,
        category=category(metadata.get("category")),
        tags=words_of(item.get("categories")),
        valid_from=made if newer else None,
        valid_to=(changed or made) if newer else end,
        made=made,
        changed=changed,
        source=source,
        about=about,
        session=_text(first_of(item, "run_id", "session_id")),
        metadata={**metadata, **rest_of(item, OWN)},
        entities=[{"name": name} for name in mentions.get(key, [])],
    )
    if newer:
        yield Link(place, newer, key, "replaces")


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, (str, int)) and str(value).strip() else None


def _relation(place: str, item: Json) -> Iterator[Record]:
    kind = edge_type(first_of(item, "relationship", "relation", "type"))
    ends = [_name(first_of(item, *names), names[0]) for names in (("source",), ("target", "destination"))]
    yield Edge(place, ends[0], kind, ends[1])


def _name(value: object, what: str) -> str:
    """A name of the old graph, which was lowered and joined by `_`; the person is `user_id:_…`."""
    name = text_of(value, what).removeprefix("user_id:").replace("_", " ").strip()
    return label(text_of(name, what))


def _blocks(file: File, notes: Notes) -> Iterator[Record]:
    """The plugin's Markdown: a block begins at `---` with an id behind it, so that a rule inside of a text is text."""
    rows = file.text().splitlines()
    starts = [n for n, row in enumerate(rows) if row.strip() == "---" and n + 1 < len(rows) and rows[n + 1].startswith("id:")]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
        place = file.place(f"line {start + 1}")
        try:
            yield _block(place, "\n".join(rows[start:end]))
        except WrongValue as error:
            notes.error(place, str(error))


def _block(place: str, text: str) -> Memory:
    fields, body = front_matter(text)
    key = text_of(str(fields.get("id") or ""), "id")
    confidence = fields.get("confidence")
    return Memory(
        place,
        key,
        text_of(body.strip(), "the text"),
        lineage=key,
        category=category(fields.get("type")),
        tags=words_of(fields.get("categories")),
        made=moment(fields.get("created_at"), "created_at"),
        source="mem0-plugin",
        confidence=float(confidence) if isinstance(confidence, (int, float)) and 0 <= confidence <= 1 else None,
        metadata={
            **rest_of(fields, ("id", "type", "categories", "created_at", "confidence", "files")),
            "files": words_of(fields.get("files")),
        },
    )
