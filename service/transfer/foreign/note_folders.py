"""Folders of Markdown notes: Obsidian, basic-memory, OKF, and what `loci export --format markdown` wrote.

A note is a memory in a lineage of its path; where notes link to each other their memories do, and a relation with a name is an edge
between the entities that the notes are about.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from service.transfer.foreign.markdown import inline_links, split_without_errors, strip_code, tags_in, wiki_links, without_comments
from service.transfer.foreign.records import Entity, ImportNotes, Json, Link, Memory, Record
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    entity_type,
    join_category_path,
    keep_stated_fields,
    parse_moment,
    rest_of,
    shorten_identity,
    shorten_label,
    words_of,
)

OBSERVATION = re.compile(r"^[ \t]*+[-*][ \t]++(?:\[(?![ xX]\]|\d\d:|\[)([^\[\]()\n]++)\](?!\()[ \t]++)?([^\n]++)$", re.MULTILINE)
RELATION = re.compile(r"^[ \t]*+[-*][ \t]++(?:\"([^\"\n]++)\"|([\w-]++))[ \t]++\[\[([^\[\]\n]++)\]\]", re.MULTILINE)
HASH_WORD = re.compile(r"(?<!\S)#[\w/-]++")
ENTRY = re.compile(r"^<!-- okf-entry -->[ \t\r]*+$", re.MULTILINE)
LISTED = {"tags", "aliases", "title", "type", "permalink", "created", "modified", "schema"}
WIKI_ONLY = re.compile(r"^\[\[([^\[\]]+)\]\]$")


@dataclass
class Note:
    """A note as it was read."""

    file: File
    fields: Json
    body: str
    name: str

    @property
    def path_without_ending(self) -> str:
        """Its path without the ending: its identity."""
        return self.file.path.removesuffix(".md") or self.name


class Vault:
    """Notes by their paths and their short names."""

    def __init__(self, source: Source, notes: ImportNotes) -> None:
        self.notes: list[Note] = []
        self._first: dict[str, Note] = {}  # of a name
        self._nearest: dict[tuple[str, PurePosixPath], Note] = {}  # of a name, in a folder
        self._at: dict[str, Note] = {}
        for file in source.files:
            if any(folder.startswith(".") for folder in file.path.split("/")[:-1]):
                continue
            if file.path and not file.path.lower().endswith(".md"):
                notes.count_omission("files that are no notes")
                continue
            self._add_file(file, notes)

    def _add_file(self, file: File, notes: ImportNotes) -> None:
        fields, body, wrong = split_without_errors(file.read_text())
        if wrong is not None:
            notes.add_remark(f"{file.describe_place()}: read as plain text: {wrong}")
        name = str(fields.get("title") or PurePosixPath(file.path).stem or "note").strip()
        note = Note(file, fields, body, shorten_label(name))
        self.notes.append(note)
        self._at.setdefault(note.path_without_ending.lower(), note)
        folder = PurePosixPath(note.path_without_ending).parent
        for key in {
            each.lower()
            for each in (
                note.path_without_ending,
                PurePosixPath(note.path_without_ending).name,
                name,
                str(fields.get("permalink") or name),
            )
        }:
            self._first[key] = min(self._first.get(key, note), note, key=_path_of)
            near = (key, folder)
            self._nearest[near] = min(self._nearest.get(near, note), note, key=_path_of)

    def find_note(self, target: str, near: Note) -> Note | None:
        """The note that a link means: by its path, else the nearest of that name."""
        name = target.strip("/").removesuffix(".md").lower()
        return self._nearest.get((name, PurePosixPath(near.path_without_ending).parent)) or self._first.get(name)

    def note_at_path(self, path: str, near: Note) -> Note | None:
        """The note at a path of a Markdown link, from the note or the root. Raises WrongValue for one that leaves the folder."""
        steps = [] if path.startswith("/") else list(PurePosixPath(near.file.path).parts[:-1])
        for step in PurePosixPath(path.lstrip("/")).parts:
            if step == ".." and not steps:
                raise WrongValue(f"a link leads out of the folder: {path!r}")
            steps.pop() if step == ".." else steps.append(step) if step != "." else None
        wanted = "/".join(steps).removesuffix(".md").lower()
        return self._at.get(wanted)


def _path_of(note: Note) -> str:
    return note.path_without_ending


def read_obsidian(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """A vault. A property that is a link is an edge of its name; the creation of a file is not in it."""
    vault = Vault(source, notes)
    for note in vault.notes:
        body = without_comments(note.body)
        if not body:
            notes.count_omission("notes without a text")
            continue
        edges = [
            {"source": note.name, "type": name[:128], "target": target}
            for name, value in note.fields.items()
            for target in _links_of(value)
        ]
        tags = list(dict.fromkeys([*words_of(note.fields.get("tags")), *map(shorten_label, tags_in(note.body))]))
        yield from _read_note_entity(note, edges, words_of(note.fields.get("aliases")))
        metadata = keep_stated_fields(path=note.file.path, **rest_of(note.fields, ("tags", "aliases")))
        folder = join_category_path(PurePosixPath(note.path_without_ending).parent.as_posix())
        yield Memory(
            note.file.describe_place(),
            note.path_without_ending,
            body,
            lineage=note.path_without_ending,
            category=folder,
            tags=tags,
            metadata=metadata,
            edges=edges,
        )
        yield from _read_links(note, vault, notes)


def read_basic_memory(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """basic-memory: the note, its observations as memories of their own, its relations as edges."""
    vault = Vault(source, notes)
    for note in vault.notes:
        key = shorten_identity(str(note.fields.get("permalink") or note.path_without_ending))
        made, changed = _read_moments(note, notes, "created", "modified")
        plain = strip_code(note.body)
        relations = [(quoted or word, target.split("|")[0].strip()) for quoted, word, target in RELATION.findall(plain)]
        edges = [{"source": note.name, "type": kind[:128], "target": shorten_label(target)} for kind, target in relations]
        kind = entity_type(note.fields.get("type"))
        yield Entity(note.file.describe_place(), note.name, None if kind == "note" else kind)
        about = [{"name": note.name}]
        folder = join_category_path(PurePosixPath(key).parent.as_posix())
        if note.body.strip():
            metadata = keep_stated_fields(path=note.file.path, title=note.name, **rest_of(note.fields, LISTED))
            yield Memory(
                note.file.describe_place(),
                key,
                note.body.strip(),
                lineage=key,
                category=folder,
                tags=words_of(note.fields.get("tags")),
                made=made,
                changed=changed,
                metadata=metadata,
                entities=about,
                edges=edges,
            )
        for kind_of, text, context, tags in parse_observations(plain):
            metadata = keep_stated_fields(note=key, context=context)
            where = join_category_path(folder, kind_of)
            yield Memory(
                note.file.describe_place(),
                f"{key}#{text[:200]}",
                text,
                category=where,
                tags=tags,
                about=note.name,
                metadata=metadata,
                entities=about,
            )
        yield from _read_links(note, vault, notes, frozenset(target for _, target in relations))


def parse_observations(text: str) -> Iterator[tuple[str | None, str, str | None, list[str]]]:
    """Observations of a note: category, text, context, tags. Tasks, times, links and quotes are none."""
    for kind, line in OBSERVATION.findall(text):
        if "[[" in line or (not kind and (line.startswith("[") or not tags_in(line))):
            continue
        tags = tags_in(line)
        said, context = _said_and_context(_without_tags(line))
        if said:
            yield kind.strip() or "Note", said, context, tags


def _without_tags(line: str) -> str:
    """A line without its tags, and the blanks before each."""
    kept, place = [], 0
    for tag in HASH_WORD.finditer(line):
        kept.append(line[place : tag.start()].rstrip())
        place = tag.end()
    return ("".join(kept) + line[place:]).strip()


def _said_and_context(words: str) -> tuple[str, str | None]:
    """The statement, and the note behind it in brackets."""
    start = words.rfind("(")
    if not words.endswith(")") or start < 0 or ")" in words[start:-1]:
        return words, None
    return words[:start].strip(), words[start + 1 : -1]


def read_okf(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """OKF 0.1 and 0.2: concepts, each with what it is about; `index.md` and `log.md` are reserved."""
    vault = Vault(source, notes)
    for note in list(vault.notes):
        if PurePosixPath(note.file.path).name in ("index.md", "log.md"):
            notes.count_omission("reserved files (index.md, log.md)")
            continue
        for number, (fields, body) in enumerate(_list_entries(note)):
            place = note.file.describe_place(f"entry {number + 1}" if number else "")
            try:
                yield from _read_concept(place, note, fields, body, number)
            except WrongValue as error:
                notes.note_error(place, str(error))
        if isinstance(note.fields.get("type"), str):
            yield from _read_links(note, vault, notes)


def _list_entries(note: Note) -> Iterator[tuple[Json, str]]:
    first, *rest = ENTRY.split(note.body)
    yield note.fields, first
    for part in rest:
        fields, body, _ = split_without_errors(part.lstrip())
        yield fields, body


def _read_concept(place: str, note: Note, fields: Json, body: str, number: int) -> Iterator[Record]:
    kind = fields.get("type")
    if not isinstance(kind, str) or not kind.strip():
        raise WrongValue("type: is missing, and a concept needs one")
    found = fields.get("generated")
    generated: Json = found if isinstance(found, dict) else {}
    found = fields.get("x_memanto")
    own: Json = found if isinstance(found, dict) else {}
    made = parse_moment(generated.get("at") or fields.get("timestamp"), "generated.at")
    key = str(own.get("id") or note.path_without_ending) if number or own else note.path_without_ending
    title = shorten_label(str(fields.get("title") or note.name))
    ended = fields.get("status") == "deprecated" or own.get("status") == "superseded"
    confidence = own.get("confidence")
    description = fields.get("description")
    text = body.strip() or str(description or "")
    yield Entity(place, title, entity_type(kind), [], description if isinstance(description, str) else None)
    yield Memory(
        place,
        key,
        text,
        lineage=key,
        category=join_category_path(kind, PurePosixPath(note.path_without_ending).parent.as_posix()),
        tags=words_of(fields.get("tags")),
        valid_to=made if ended else None,
        made=made,
        changed=made,
        source=shorten_label(str(generated.get("by") or own.get("source") or "okf")),
        about=title,
        confidence=confidence if isinstance(confidence, float) and 0 <= confidence <= 1 else None,
        metadata=keep_stated_fields(**{name: value for name, value in fields.items() if name not in ("tags", "type")}),
        entities=[{"name": title}],
    )


def read_markdown(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Files that `loci export --format markdown` wrote: each goes back to its lineage; an edited one is a new version."""
    for file in source.files_with_ending(".md") if source.only_file is None else source.files:
        fields, body, wrong = split_without_errors(file.read_text())
        own = fields.get("loci")
        if wrong is not None or not isinstance(own, dict):
            notes.note_error(file.describe_place(), wrong or "loci: the properties of an exported memory are missing")
            continue
        try:
            yield _read_own_export(file, fields, own, body.removesuffix("\n"))
        except WrongValue as error:
            notes.note_error(file.describe_place(), str(error))


def _read_own_export(file: File, fields: Json, own: Json, body: str) -> Memory:
    lineage = str(own.get("lineage") or "")
    same = own.get("sha256") == hash_body(body)
    if not lineage:
        raise WrongValue("loci.lineage: is missing")
    start, end = parse_moment(fields.get("valid_from"), "valid_from"), parse_moment(fields.get("valid_to"), "valid_to")
    metadata = fields.get("metadata")
    lost = () if same else ("source_created_at", "source_updated_at")  # edited words were not written there
    return Memory(
        file.describe_place(),
        lineage if same else f"{lineage}#{hash_body(body)}",
        body,
        id=str(own["id"]) if same and own.get("id") else None,
        lineage=lineage,
        category=fields.get("category"),
        tags=words_of(fields.get("tags")),
        layer=fields.get("layer"),
        valid_from=start if same else None,
        valid_to=end if same else None,
        source=fields.get("source"),
        session=fields.get("session"),
        importance=fields.get("importance"),
        confidence=fields.get("confidence"),
        metadata={name: item for name, item in metadata.items() if name not in lost} if isinstance(metadata, dict) else {},
    )


def hash_body(body: str) -> str:
    """The mark that tells whether a file was edited since it was written."""
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _read_note_entity(note: Note, edges: list[Json], aliases: list[str]) -> Iterator[Record]:
    """The entity that a note is about, where anything says that it is one."""
    if edges or aliases:
        yield Entity(note.file.describe_place(), note.name, None, aliases)


def _links_of(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and (found := WIKI_ONLY.match(item.strip())):
            target = re.split(r"[#|^]", found[1], maxsplit=1)[0].strip()
            if target:
                yield shorten_label(PurePosixPath(target).name)


def _read_links(note: Note, vault: Vault, notes: ImportNotes, but: frozenset[str] = frozenset()) -> Iterator[Record]:
    """Links to other notes of the folder; those to no note are counted."""
    key = shorten_identity(str(note.fields.get("permalink") or note.path_without_ending))
    text = strip_code(note.body)
    found: dict[str, Note | None] = {}
    for target, embed in wiki_links(text):
        if embed:
            notes.count_loss("embeds")
        elif target not in but:
            found[target] = vault.find_note(target, note)
    for path in inline_links(text):
        try:
            found[path] = vault.note_at_path(path, note)
        except WrongValue as error:
            notes.add_remark(f"{note.file.describe_place()}: {error}")
    notes.count_omission("links to no note", sum(1 for target in found.values() if target is None))
    ends = {
        shorten_identity(str(target.fields.get("permalink") or target.path_without_ending))
        for target in found.values()
        if target is not None
    } - {key}
    for end in sorted(ends):
        yield Link(note.file.describe_place(), key, end, "links_to")


def _read_moments(note: Note, notes: ImportNotes, *names: str) -> list[Any]:
    found = []
    for name in names:
        try:
            found.append(parse_moment(note.fields.get(name), name))
        except WrongValue as error:
            notes.note_error(note.file.describe_place(), str(error))
            found.append(None)
    return found
