"""mem0's OpenMemory: its backup (`memories.json` and `memories.jsonl.gz` in a zip), either file of it, or its SQLite database."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from service.transfer.foreign.items import iterate_line_values, make_records, preview_first_value
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Unreadable
from service.transfer.foreign.sources import File, Source, unpack_file
from service.transfer.foreign.speakers import said_of_user
from service.transfer.foreign.sqlite import MAGIC, openmemory_rows
from service.transfer.foreign.values import WrongValue, keep_stated_fields, object_of, parse_moment, text_of, words_of

STATES = ("active", "paused", "archived", "deleted")
NAMES = (("user", "user_id"), ("apps.item", "name"), ("categories.item", "name"))
LOST = (("status_history.item", "changes of states"), ("access_controls.item", "access lists"))


def read(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Memories that are there; archived ones are ended, deleted ones left out."""
    files = [file for file in source.files if not file.path or file.path.rsplit("/", 1)[-1].startswith("memories")]
    whole = [file for file in files if _is_database(file) or _is_whole(file)]
    for file in whole or files:  # the lines of a backup say again what its other file says, without users and ends
        yield from make_records(_items(file, notes), notes, lambda place, item: _memory(place, item, notes))


def _is_database(file: File) -> bool:
    return file.read_head(len(MAGIC)) == MAGIC


def _is_whole(file: File) -> bool:
    start = preview_first_value(file) if file.read_head().lstrip()[:1] == b"{" else None
    return isinstance(start, dict) and isinstance(start.get("memories"), list)


def _items(file: File, notes: ImportNotes) -> Iterator[tuple[str, Any]]:
    """The memories with their places; users, apps and categories by name. A file of lines may itself be packed."""
    if _is_database(file):
        yield from openmemory_rows(file, notes)
    elif _is_whole(file):
        yield from _listed(file, notes)
    else:
        opened = unpack_file(file)
        with opened.stack:
            for inner in opened.files:
                yield from iterate_line_values(inner, notes)


def _listed(file: File, notes: ImportNotes) -> Iterator[tuple[str, Any]]:
    """The memories of a `memories.json`, which names other things by their ids."""
    names: dict[str, Any] = {}
    for path, field in NAMES:
        names |= {str(row.get("id")): row.get(field) for row in _rows(file, path)}
    for number, item in enumerate(file.iterate_items("memories.item")):
        yield file.describe_place(f"memories[{number}]"), _named(item, names) if isinstance(item, dict) else item
    for path, what in LOST:
        notes.count_loss(what, sum(1 for _ in _rows(file, path)))


def _named(item: Json, names: dict[str, Any]) -> Json:
    """A memory with the names of its user, its app and its categories."""
    user, app = names.get(str(item.get("user_id"))), names.get(str(item.get("app_id")))
    return {**item, "user": user, "app": app, "categories": [names.get(str(key)) for key in item.get("category_ids") or []]}


def _rows(file: File, path: str) -> Iterator[Json]:
    """The objects at a path, as far as the file is whole: memories of a file that was cut off are named where it ends."""
    with suppress(Unreadable):
        yield from (row for row in file.iterate_items(path) if isinstance(row, dict))


def _memory(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    state = item.get("state", "active")
    if state not in STATES:
        raise WrongValue(f"state: must be one of {', '.join(STATES)}, not {state!r}")
    text, key = text_of(item.get("content"), "content"), text_of(item.get("id"), "id")
    if state == "deleted":
        notes.count_omission("memories that were deleted there")
        return
    made, changed = parse_moment(item.get("created_at"), "created_at"), parse_moment(item.get("updated_at"), "updated_at")
    archived = parse_moment(item.get("archived_at"), "archived_at") or changed or made
    app = item.get("app") if isinstance(item.get("app"), str) else None
    source, about = said_of_user(text, item.get("user"), app)
    yield Memory(
        place,
        key,
        text,
        lineage=key,
        tags=words_of(item.get("categories")),
        valid_to=archived if state == "archived" else None,
        made=made,
        changed=changed,
        source=source,
        about=about,
        metadata={**object_of(item.get("metadata") or {}, "metadata"), **keep_stated_fields(state=state, app=app)},
    )
