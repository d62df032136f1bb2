"""COGX 0.1: a folder, or a packed tar, of JSON lines, a file a kind. `permissions.json` is never opened."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from service.transfer.foreign.items import iterate_line_values, make_records
from service.transfer.foreign.records import Entity, ImportNotes, Json, Memory, Record, Turn, Unreadable
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.speakers import said_of_user
from service.transfer.foreign.values import (
    WrongValue,
    edge_type,
    entity_type,
    join_category_path,
    keep_stated_fields,
    list_of,
    object_of,
    parse_moment,
    shorten_identity,
    shorten_label,
    shorten_repeated_text,
    text_of,
    words_of,
)

VERSION = "0.1"
FILES = ("entities.jsonl", "documents.jsonl", "memories.jsonl", "memory_blocks.jsonl", "facts.jsonl", "episodes.jsonl")


def read_cogx(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Entities; documents, memories and blocks; facts with the edge that they state; turns of episodes."""
    named = {PurePosixPath(file.path).name: file for file in source.files}
    _check_files(named, notes)
    names: dict[str, str] = {}
    for name in FILES:
        if name in named:
            yield from make_records(
                iterate_line_values(named[name], notes), notes, lambda place, item: _read_item(place, item, names, notes)
            )
    for name in named.keys() - {*FILES, "manifest.json"}:
        notes.count_omission(f"files that are not opened ({name})")


def _check_files(named: dict[str, File], notes: ImportNotes) -> None:
    if "manifest.json" not in named:
        raise Unreadable("manifest.json is missing: import the folder or the archive, not one file of it")
    manifest = named["manifest.json"].read_json()
    version = manifest.get("cogx_version") if isinstance(manifest, dict) else None
    if version != VERSION:
        raise Unreadable(f"cogx_version: must be {VERSION}, not {version!r}", "manifest.json")
    counts = manifest.get("counts")
    if isinstance(counts, dict):
        have = {
            kind: sum(1 for _ in named[name].iterate_lines())
            for kind, name in zip(_list_kinds(), FILES, strict=True)
            if name in named
        }
        differ = [f"{kind}: {counts[kind]} said, {have.get(kind, 0)} there" for kind in counts if counts[kind] != have.get(kind, 0)]
        if differ:
            notes.add_remark(f"manifest.json: the counts differ: {'; '.join(differ)}")


def _list_kinds() -> tuple[str, ...]:
    return ("entity", "document", "memory", "memory_block", "fact", "episode")


def _read_item(place: str, item: Json, names: dict[str, str], notes: ImportNotes) -> Iterator[Record]:
    kind = item.get("kind")
    if kind == "entity":
        name = shorten_label(text_of(item.get("name"), "name"))
        names[str(item.get("external_id"))] = name
        attributes = object_of(item.get("attributes") or {}, "attributes")
        about = keep_stated_fields(source_id=item.get("external_id"), **attributes)
        yield Entity(
            place, name, entity_type(item.get("entity_type")), words_of(item.get("aliases")), item.get("description"), about
        )
    elif kind == "fact":
        yield _read_fact(place, item, names)
    elif kind == "episode":
        yield from _read_episode(place, item, notes)
    elif kind in ("document", "memory", "memory_block"):
        yield _read_text(place, item, kind)
    else:
        raise WrongValue(f"kind: {kind!r} is no kind of COGX {VERSION}")


def _make_memory(place: str, item: Json, text: str) -> Memory:
    """Fields that all kinds share."""
    scope = object_of(item.get("scope") or {}, "scope")
    system, key = str(item.get("external_system") or "cogx"), text_of(item.get("external_id"), "external_id")
    session = scope.get("session_id") or scope.get("run_id")
    metadata = object_of(item.get("metadata") or {}, "metadata")
    more = {name: value for name, value in metadata.items() if name != "tags"}
    return Memory(
        place,
        f"{system}/{key}",
        text,
        lineage=f"{system}/{key}",
        tags=words_of(item.get("categories") or metadata.get("tags")),
        made=parse_moment(item.get("created_at"), "created_at"),
        changed=parse_moment(item.get("updated_at"), "updated_at"),
        source=system,
        session=session if isinstance(session, str) else None,
        metadata={
            **more,
            **keep_stated_fields(title=item.get("title"), user_id=scope.get("user_id"), agent_id=scope.get("agent_id")),
        },
    )


def _read_text(place: str, item: Json, kind: str) -> Memory:
    memory = _make_memory(place, item, text_of(item.get("value" if kind == "memory_block" else "content"), "content"))
    memory.category = join_category_path("cogx", kind, item.get("label"))
    if kind != "document":
        scope = object_of(item.get("scope") or {}, "scope")
        memory.source, memory.about = said_of_user(memory.content, scope.get("user_id"), memory.source)
    return memory


def _read_fact(place: str, item: Json, names: dict[str, str]) -> Memory:
    ends = [
        shorten_label(names.get(ref, ref))
        for ref in (text_of(item.get(f"{end}_ref"), f"{end}_ref") for end in ("subject", "object"))
    ]
    kind = edge_type(item.get("predicate"))
    confidence = item.get("confidence")
    if confidence is not None and not (isinstance(confidence, (int, float)) and 0 <= confidence <= 1):
        raise WrongValue(f"confidence: must be 0 to 1, not {confidence!r}")
    memory = _make_memory(place, item, item.get("fact_text") or f"{ends[0]} {kind.replace('_', ' ').lower()} {ends[1]}")
    memory.valid_from, memory.valid_to = (
        parse_moment(item.get("valid_at"), "valid_at"),
        parse_moment(item.get("invalid_at"), "invalid_at"),
    )
    memory.category, memory.confidence, memory.about = join_category_path("cogx/fact"), confidence, ends[0]
    memory.entities = [{"name": name} for name in ends]
    memory.edges = [{"source": ends[0], "type": kind, "target": ends[1]}]
    memory.metadata.update(keep_stated_fields(provenance=item.get("provenance")))
    return memory


def _read_episode(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    scope = object_of(item.get("scope") or {}, "scope")
    system, key = str(item.get("external_system") or "cogx"), text_of(item.get("external_id"), "external_id")
    session = scope.get("session_id") or key
    for number, found in enumerate(list_of(item.get("turns"), "turns")):
        here = f"{place}.turns[{number}]"
        try:
            turn = object_of(found)
            said = parse_moment(turn.get("occurred_at"), "occurred_at")
            role, content = text_of(turn.get("role"), "role"), text_of(turn.get("content"), "content")
            yield Turn(
                here,
                f"{shorten_identity(f'{system}/{key}')}/{number}",
                shorten_label(str(session)),
                role,
                content,
                said,
                keep_stated_fields(title=shorten_repeated_text(item.get("title"))),
            )
        except WrongValue as error:
            notes.note_error(here, str(error))
