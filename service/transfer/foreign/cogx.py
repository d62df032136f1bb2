"""COGX 0.1: a folder, or a packed tar, of JSON lines, a file a kind. `permissions.json` is never opened."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from service.transfer.foreign.items import each, lines
from service.transfer.foreign.records import Entity, Json, Memory, Notes, Record, Turn, Unreadable
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    category,
    edge_type,
    entity_type,
    identity,
    label,
    list_of,
    moment,
    object_of,
    short,
    stated,
    text_of,
    words_of,
)
from service.transfer.foreign.whose import said_of_user

VERSION = "0.1"
FILES = ("entities.jsonl", "documents.jsonl", "memories.jsonl", "memory_blocks.jsonl", "facts.jsonl", "episodes.jsonl")


def read(source: Source, notes: Notes) -> Iterator[Record]:
    """Entities; documents, memories and blocks; facts with the edge that they state; turns of episodes."""
    named = {PurePosixPath(file.path).name: file for file in source.files}
    _check(named, notes)
    names: dict[str, str] = {}
    for name in FILES:
        if name in named:
            yield from each(lines(named[name], notes), notes, lambda place, item: _item(place, item, names, notes))
    for name in named.keys() - {*FILES, "manifest.json"}:
        notes.skip(f"files that are not opened ({name})")


def _check(named: dict[str, File], notes: Notes) -> None:
    if "manifest.json" not in named:
        raise Unreadable("manifest.json is missing: import the folder or the archive, not one file of it")
    manifest = named["manifest.json"].json()
    version = manifest.get("cogx_version") if isinstance(manifest, dict) else None
    if version != VERSION:
        raise Unreadable(f"cogx_version: must be {VERSION}, not {version!r}", "manifest.json")
    counts = manifest.get("counts")
    if isinstance(counts, dict):
        have = {kind: sum(1 for _ in named[name].lines()) for kind, name in zip(_kinds(), FILES, strict=True) if name in named}
        differ = [f"{kind}: {counts[kind]} said, {have.get(kind, 0)} there" for kind in counts if counts[kind] != have.get(kind, 0)]
        if differ:
            notes.remark(f"manifest.json: the counts differ: {'; '.join(differ)}")


def _kinds() -> tuple[str, ...]:
    return ("entity", "document", "memory", "memory_block", "fact", "episode")


def _item(place: str, item: Json, names: dict[str, str], notes: Notes) -> Iterator[Record]:
    kind = item.get("kind")
    if kind == "entity":
        name = label(text_of(item.get("name"), "name"))
        names[str(item.get("external_id"))] = name
        attributes = object_of(item.get("attributes") or {}, "attributes")
        about = stated(source_id=item.get("external_id"), **attributes)
        yield Entity(
            place, name, entity_type(item.get("entity_type")), words_of(item.get("aliases")), item.get("description"), about
        )
    elif kind == "fact":
        yield _fact(place, item, names)
    elif kind == "episode":
        yield from _episode(place, item, notes)
    elif kind in ("document", "memory", "memory_block"):
        yield _text(place, item, kind)
    else:
        raise WrongValue(f"kind: {kind!r} is no kind of COGX {VERSION}")


def _memory(place: str, item: Json, text: str) -> Memory:
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
        made=moment(item.get("created_at"), "created_at"),
        changed=moment(item.get("updated_at"), "updated_at"),
        source=system,
        session=session if isinstance(session, str) else None,
        metadata={**more, **stated(title=item.get("title"), user_id=scope.get("user_id"), agent_id=scope.get("agent_id"))},
    )


def _text(place: str, item: Json, kind: str) -> Memory:
    memory = _memory(place, item, text_of(item.get("value" if kind == "memory_block" else "content"), "content"))
    memory.category = category("cogx", kind, item.get("label"))
    if kind != "document":
        scope = object_of(item.get("scope") or {}, "scope")
        memory.source, memory.about = said_of_user(memory.content, scope.get("user_id"), memory.source)
    return memory


def _fact(place: str, item: Json, names: dict[str, str]) -> Memory:
    ends = [label(names.get(ref, ref)) for ref in (text_of(item.get(f"{end}_ref"), f"{end}_ref") for end in ("subject", "object"))]
    kind = edge_type(item.get("predicate"))
    confidence = item.get("confidence")
    if confidence is not None and not (isinstance(confidence, (int, float)) and 0 <= confidence <= 1):
        raise WrongValue(f"confidence: must be 0 to 1, not {confidence!r}")
    memory = _memory(place, item, item.get("fact_text") or f"{ends[0]} {kind.replace('_', ' ').lower()} {ends[1]}")
    memory.valid_from, memory.valid_to = moment(item.get("valid_at"), "valid_at"), moment(item.get("invalid_at"), "invalid_at")
    memory.category, memory.confidence, memory.about = category("cogx/fact"), confidence, ends[0]
    memory.entities = [{"name": name} for name in ends]
    memory.edges = [{"source": ends[0], "type": kind, "target": ends[1]}]
    memory.metadata.update(stated(provenance=item.get("provenance")))
    return memory


def _episode(place: str, item: Json, notes: Notes) -> Iterator[Record]:
    scope = object_of(item.get("scope") or {}, "scope")
    system, key = str(item.get("external_system") or "cogx"), text_of(item.get("external_id"), "external_id")
    session = scope.get("session_id") or key
    for number, found in enumerate(list_of(item.get("turns"), "turns")):
        here = f"{place}.turns[{number}]"
        try:
            turn = object_of(found)
            said = moment(turn.get("occurred_at"), "occurred_at")
            role, content = text_of(turn.get("role"), "role"), text_of(turn.get("content"), "content")
            yield Turn(
                here,
                f"{identity(f'{system}/{key}')}/{number}",
                label(str(session)),
                role,
                content,
                said,
                stated(title=short(item.get("title"))),
            )
        except WrongValue as error:
            notes.error(here, str(error))
