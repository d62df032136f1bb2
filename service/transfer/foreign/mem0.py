"""mem0: pages of get_all and of the platform, rows of its pgvector table, its old graph, and blocks of its plugin's Markdown."""

from collections.abc import Iterator

from service.transfer.foreign.items import first_of, is_list, iterate_items, make_records, preview_first_value
from service.transfer.foreign.markdown import front_matter
from service.transfer.foreign.records import Edge, Entity, ImportNotes, Json, Link, Memory, Record
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.speakers import said_of_user
from service.transfer.foreign.values import (
    WrongValue,
    edge_type,
    end_of,
    entity_type,
    join_category_path,
    object_of,
    parse_moment,
    rest_of,
    shorten_label,
    text_of,
    words_of,
)

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


def read_mem0(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Memories, each in a lineage of its id; what was replaced there is over; entities; the relations of the old graph."""
    for file in source.files:
        if file.read_head(8).lstrip().startswith(b"---"):
            yield from _split_blocks(file, notes)
    files = [file for file in source.files if not file.read_head(8).lstrip().startswith(b"---")]
    mentions = _read_mentions(files)
    for file in files:
        yield from make_records(
            iterate_items(file, notes, *LISTS), notes, lambda place, item: _read_item(place, item, notes, mentions)
        )
        if not is_list(file) and isinstance(start := preview_first_value(file), dict) and set(LISTS) & start.keys():
            relations = enumerate(file.iterate_items("relations.item"))
            yield from make_records(
                ((file.describe_place(f"relations[{n}]"), item) for n, item in relations), notes, _read_relation
            )
            if start.get("next"):
                notes.add_remark(f"{file.describe_place()} is one page of several: import the others too")


def _read_mentions(files: list[File]) -> dict[str, list[str]]:
    """Which entities mention a memory, by the rows of the entity collection."""
    mentions: dict[str, list[str]] = {}
    silent = ImportNotes()
    for file in files:
        for _, item in iterate_items(file, silent, *LISTS):
            if not isinstance(item, dict):
                continue
            payload = item.get("payload")
            if isinstance(payload, dict) and "entity_type" in payload and isinstance(payload.get("data"), str):
                linked_ids = payload.get("linked_memory_ids")
                for linked in linked_ids if isinstance(linked_ids, list) else []:
                    mentions.setdefault(str(linked), []).append(shorten_label(payload["data"]))
    return mentions


def _read_item(place: str, item: Json, notes: ImportNotes, mentions: dict[str, list[str]]) -> Iterator[Record]:
    if "payload" in item:
        payload = object_of(item["payload"], "payload")
        if "entity_type" in payload:
            yield Entity(place, shorten_label(text_of(payload.get("data"), "data")), entity_type(payload["entity_type"]))
            return
        item = {**payload, "id": item.get("id")}
    key = first_of(item, "id")
    words = first_of(item, *TEXTS)
    if words is None:
        notes.count_omission("rows without a text")
        return
    text = text_of(words, "memory")
    key = text_of(key, "id")
    metadata = object_of(item.get("metadata") or {}, "metadata")
    made, changed = parse_moment(item.get("created_at"), "created_at"), parse_moment(item.get("updated_at"), "updated_at")
    newer = _read_text(item.get("replaced_by"))
    end = end_of(item.get("expiration_date"), "expiration_date")
    other = first_of(item, *SOURCES)
    source, about = said_of_user(text, item.get("user_id"), other if isinstance(other, str) else None)
    for lost in ("hash", "text_lemmatized", "score", "vector"):
        notes.count_loss(lost, int(item.get(lost) is not None))
    yield Memory(
        place,
        key,
        text,
        lineage=key,
        category=join_category_path(metadata.get("category")),
        tags=words_of(item.get("categories")),
        valid_from=made if newer else None,
        valid_to=(changed or made) if newer else end,
        made=made,
        changed=changed,
        source=source,
        about=about,
        session=_read_text(first_of(item, "run_id", "session_id")),
        metadata={**metadata, **rest_of(item, OWN)},
        entities=[{"name": name} for name in mentions.get(key, [])],
    )
    if newer:
        yield Link(place, newer, key, "replaces")


def _read_text(value: object) -> str | None:
    return str(value) if isinstance(value, (str, int)) and str(value).strip() else None


def _read_relation(place: str, item: Json) -> Iterator[Record]:
    kind = edge_type(first_of(item, "relationship", "relation", "type"))
    ends = [_restore_name(first_of(item, *names), names[0]) for names in (("source",), ("target", "destination"))]
    yield Edge(place, ends[0], kind, ends[1])


def _restore_name(value: object, what: str) -> str:
    """A name of the old graph, which was lowered and joined by `_`; the person is `user_id:_…`."""
    name = text_of(value, what).removeprefix("user_id:").replace("_", " ").strip()
    return shorten_label(text_of(name, what))


def _split_blocks(file: File, notes: ImportNotes) -> Iterator[Record]:
    """The plugin's Markdown: a block begins at `---` with an id behind it, so that a rule inside of a text is text."""
    rows = file.read_text().splitlines()
    starts = [n for n, row in enumerate(rows) if row.strip() == "---" and n + 1 < len(rows) and rows[n + 1].startswith("id:")]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
        place = file.describe_place(f"line {start + 1}")
        try:
            yield _read_block(place, "\n".join(rows[start:end]))
        except WrongValue as error:
            notes.note_error(place, str(error))


def _read_block(place: str, text: str) -> Memory:
    fields, body = front_matter(text)
    key = text_of(str(fields.get("id") or ""), "id")
    confidence = fields.get("confidence")
    return Memory(
        place,
        key,
        text_of(body.strip(), "the text"),
        lineage=key,
        category=join_category_path(fields.get("type")),
        tags=words_of(fields.get("categories")),
        made=parse_moment(fields.get("created_at"), "created_at"),
        source="mem0-plugin",
        confidence=float(confidence) if isinstance(confidence, (int, float)) and 0 <= confidence <= 1 else None,
        metadata={
            **rest_of(fields, ("id", "type", "categories", "created_at", "confidence", "files")),
            "files": words_of(fields.get("files")),
        },
    )
