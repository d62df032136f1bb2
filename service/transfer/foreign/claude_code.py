"""Claude Code: sessions (lines of JSON, one file each) and memory files (Markdown), from `~/.claude/projects` (versions 2.x)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from service.transfer.foreign.items import iterate_line_values
from service.transfer.foreign.markdown import front_matter, strip_code, wiki_links
from service.transfer.foreign.records import ImportNotes, Json, Link, Memory, Record, Turn
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import WrongValue, join_category_path, keep_stated_fields, object_of, parse_moment, text_of

MACHINE = re.compile(r"<(/?+)(command-[\w-]++|system-reminder|local-command-[\w-]++|bash-[\w-]++|task-notification)>")
DOCUMENTS = {"claude.md": "instructions", "claude.local.md": "instructions", "memory.md": "index"}


def read_claude_code(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Turns of people and final answers, summaries of compactions; memory files, each in a lineage of its project and name."""
    if source.only_file is not None:
        yield from (
            _read_session(source.only_file, notes)
            if source.only_file.read_head(1) == b"{"
            else _read_memory_files([source.only_file], notes)
        )
        return
    for file in source.files:
        if file.path.endswith(".jsonl") and not file.path.endswith("history.jsonl"):
            yield from _read_session(file, notes)
    yield from _read_memory_files(source.files_with_ending(".md"), notes)


def _read_session(file: File, notes: ImportNotes) -> Iterator[Record]:
    """The turns of a session. One answer may be spread over lines; those of one message id are put together."""
    seen: set[str] = set()
    answer: Turn | None = None
    parts: list[str] = []  # of the answer
    about: Json = {}
    for place, item in iterate_line_values(file, notes):
        if not isinstance(item, dict):
            notes.note_error(place, "must be an object")
            continue
        about.update({name: item[name] for name in ("aiTitle", "customTitle") if isinstance(item.get(name), str)})
        try:
            found = _read_line(place, item, seen, notes)
        except WrongValue as error:
            notes.note_error(place, str(error))
            continue
        if (
            isinstance(found, Turn)
            and answer is not None
            and found.metadata.get("message_id") == answer.metadata.get("message_id") is not None
        ):
            parts.append(found.content)
            continue
        if found is not None:
            if answer is not None:
                answer.content = "\n\n".join(parts)
                yield answer
            answer = found if isinstance(found, Turn) else None
            parts = [found.content]
            if answer is None:
                yield found
    if answer is not None:
        answer.content = "\n\n".join(parts)
        yield answer
    if about:
        notes.add_remark(f"{file.describe_place()}: the session is called {next(reversed(about.values()))!r}")


def _read_line(place: str, item: Json, seen: set[str], notes: ImportNotes) -> Turn | Memory | None:
    kind = item.get("type")
    if kind not in ("user", "assistant"):
        notes.count_omission(f"lines of type {kind!r}")
        return None
    uuid = text_of(item.get("uuid"), "uuid")
    repeated = uuid in seen
    seen.add(uuid)
    session = text_of(item.get("sessionId"), "sessionId")
    if item.get("isMeta") or repeated or item.get("isSidechain"):
        notes.count_omission(
            "lines that are there twice" if repeated else "lines of subagents, and of the program in the name of the user"
        )
        return None
    message = object_of(item.get("message"), "message")
    words = without_machine(_join_text(message.get("content"))).strip()
    if not words:
        notes.count_omission("lines without words: tool calls, their results, thoughts")
        return None
    said = parse_moment(item.get("timestamp"), "timestamp")
    facts = keep_stated_fields(
        project=_project_name(item.get("cwd")),
        branch=item.get("gitBranch"),
        version=item.get("version"),
        model=message.get("model"),
    )
    if item.get("isCompactSummary"):
        where = join_category_path("claude-code", facts.get("project"))
        return Memory(
            place,
            uuid,
            words,
            category=where,
            layer=3,
            valid_from=said,
            made=said,
            source="claude-code",
            session=session,
            metadata=facts,
        )
    about = keep_stated_fields(message_id=message.get("id") if kind == "assistant" else None, **facts)
    return Turn(place, uuid, session, str(kind), words, said, about)


def without_machine(text: str) -> str:
    """A text without what programs wrote between the words of people. An envelope without an end is text."""
    marks = list(MACHINE.finditer(text))
    ends: dict[str, list[int]] = {}
    for mark in marks:
        if mark[1]:
            ends.setdefault(mark[2], []).append(mark.end())
    for places in ends.values():
        places.reverse()  # the next one is taken from the back
    kept, place = [], 0
    for mark in marks:
        if mark[1] or mark.start() < place or mark[2] not in ends:
            continue
        following = ends[mark[2]]
        while following and following[-1] <= mark.start():
            following.pop()
        if following:
            kept.append(text[place : mark.start()])
            place = following.pop()
    kept.append(text[place:])
    return "".join(kept)


def _join_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongValue("message.content: must be text or a list")
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n\n".join(part for part in parts if isinstance(part, str))


def _project_name(folder: Any) -> str | None:
    return PurePosixPath(folder.replace("\\", "/")).name or None if isinstance(folder, str) else None


def _read_memory_files(files: list[File], notes: ImportNotes) -> Iterator[Record]:
    """Memory files. `MEMORY.md` is an index of the others and is left out; a `CLAUDE.md` is a memory as it stands."""
    keys: dict[tuple[str, str], str] = {}
    found: list[tuple[Memory, str]] = []
    for file in files:
        folder = _project_folder(file)
        try:
            memory = _read_memory_file(file, folder, notes)
        except WrongValue as error:
            notes.note_error(file.describe_place(), str(error))
            continue
        if memory is None:
            continue
        name = memory.metadata.get("name", "")
        for spelling in (name, PurePosixPath(file.path).stem):
            keys.setdefault((folder, _make_slug(spelling)), memory.key)
        found.append((memory, folder))
        yield memory
    for memory, folder in found:
        for target, _ in wiki_links(strip_code(memory.content)):
            key = keys.get((folder, _make_slug(target)))
            if key is None:
                notes.count_omission("links to a note that is not there")
            elif key != memory.key:
                yield Link(memory.place, memory.key, key, "links_to")


def _read_memory_file(file: File, folder: str, notes: ImportNotes) -> Memory | None:
    name = PurePosixPath(file.path).name.lower()
    if name == "memory.md":
        notes.count_omission("indexes of memory files (MEMORY.md)")
        return None
    fields, body = front_matter(file.read_text())
    given = fields.get("metadata")
    inner: Json = given if isinstance(given, dict) else {}
    kind = inner.get("type") or fields.get("type") or DOCUMENTS.get(name)
    title = str(fields.get("name") or PurePosixPath(file.path).stem or "note")
    if name == "claude.md":
        imports: list[str] = re.findall(r"(?<!\S)@([\w~./-]+\w)", strip_code(body))
        if imports:
            notes.add_remark(f"{file.describe_place()}: not followed are its imports of {', '.join(imports)}")
    changed = parse_moment(inner.get("modified"), "metadata.modified")
    return Memory(
        file.describe_place(),
        f"{folder}/{title}",
        text_of(body.strip(), "the note"),
        lineage=f"{folder}/{title}",
        category=join_category_path("claude-code", kind),
        made=changed,
        changed=changed,
        source="claude-code",
        session=inner.get("originSessionId"),
        metadata=keep_stated_fields(name=title, description=fields.get("description"), path=file.path),
    )


def _project_folder(file: File) -> str:
    """The project of a memory file: the folder above `memory`, or the one that it lies in."""
    parts = [part for part in PurePosixPath(file.path).parts[:-1] if part != "memory"]
    return parts[-1] if parts else "project"


def _make_slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.removesuffix(".md").lower()).strip("-")
