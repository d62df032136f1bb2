"""Claude Code: sessions (lines of JSON, one file each) and memory files (Markdown), from `~/.claude/projects` (versions 2.x)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from service.transfer.foreign.items import lines
from service.transfer.foreign.markdown import front_matter, prose, wiki_links
from service.transfer.foreign.records import Json, Link, Memory, Notes, Record, Turn
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import WrongValue, category, moment, object_of, stated, text_of

MACHINE = re.compile(r"<(/?+)(command-[\w-]++|system-reminder|local-command-[\w-]++|bash-[\w-]++|task-notification)>")
DOCUMENTS = {"claude.md": "instructions", "claude.local.md": "instructions", "memory.md": "index"}


def read(source: Source, notes: Notes) -> Iterator[Record]:
    """Turns of people and final answers, summaries of compactions; memory files, each in a lineage of its project and name."""
    if source.single is not None:
        yield from _session(source.single, notes) if source.single.head(1) == b"{" else _notes([source.single], notes)
        return
    for file in source.files:
        if file.path.endswith(".jsonl") and not file.path.endswith("history.jsonl"):
            yield from _session(file, notes)
    yield from _notes(source.named(".md"), notes)


def _session(file: File, notes: Notes) -> Iterator[Record]:
    """The turns of a session. One answer may be spread over lines; those of one message id are put together."""
    seen: set[str] = set()
    answer: Turn | None = None
    parts: list[str] = []  # of the answer
    about: Json = {}
    for place, item in lines(file, notes):
        if not isinstance(item, dict):
            notes.error(place, "must be an object")
            continue
        about.update({name: item[name] for name in ("aiTitle", "customTitle") if isinstance(item.get(name), str)})
        try:
            found = _line(place, item, seen, notes)
        except WrongValue as error:
            notes.error(place, str(error))
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
        notes.remark(f"{file.place()}: the session is called {next(reversed(about.values()))!r}")


def _line(place: str, item: Json, seen: set[str], notes: Notes) -> Turn | Memory | None:
    kind = item.get("type")
    if kind not in ("user", "assistant"):
        notes.skip(f"lines of type {kind!r}")
        return None
    uuid = text_of(item.get("uuid"), "uuid")
    repeated = uuid in seen
    seen.add(uuid)
    session = text_of(item.get("sessionId"), "sessionId")
    if item.get("isMeta") or repeated or item.get("isSidechain"):
        notes.skip("lines that are there twice" if repeated else "lines of subagents, and of the program in the name of the user")
        return None
    message = object_of(item.get("message"), "message")
    words = without_machine(_words(message.get("content"))).strip()
    if not words:
        notes.skip("lines without words: tool calls, their results, thoughts")
        return None
    said = moment(item.get("timestamp"), "timestamp")
    facts = stated(
        project=_project(item.get("cwd")), branch=item.get("gitBranch"), version=item.get("version"), model=message.get("model")
    )
    if item.get("isCompactSummary"):
        where = category("claude-code", facts.get("project"))
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
    about = stated(message_id=message.get("id") if kind == "assistant" else None, **facts)
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


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongValue("message.content: must be text or a list")
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n\n".join(part for part in parts if isinstance(part, str))


def _project(folder: Any) -> str | None:
    return PurePosixPath(folder.replace("\\", "/")).name or None if isinstance(folder, str) else None


def _notes(files: list[File], notes: Notes) -> Iterator[Record]:
    """Memory files. `MEMORY.md` is an index of the others and is left out; a `CLAUDE.md` is a memory as it stands."""
    keys: dict[tuple[str, str], str] = {}
    found: list[tuple[Memory, str]] = []
    for file in files:
        folder = _folder(file)
        try:
            memory = _note(file, folder, notes)
        except WrongValue as error:
            notes.error(file.place(), str(error))
            continue
        if memory is None:
            continue
        name = memory.metadata.get("name", "")
        for spelling in (name, PurePosixPath(file.path).stem):
            keys.setdefault((folder, _slug(spelling)), memory.key)
        found.append((memory, folder))
        yield memory
    for memory, folder in found:
        for target, _ in wiki_links(prose(memory.content)):
            key = keys.get((folder, _slug(target)))
            if key is None:
                notes.skip("links to a note that is not there")
            elif key != memory.key:
                yield Link(memory.place, memory.key, key, "links_to")


def _note(file: File, folder: str, notes: Notes) -> Memory | None:
    name = PurePosixPath(file.path).name.lower()
    if name == "memory.md":
        notes.skip("indexes of memory files (MEMORY.md)")
        return None
    fields, body = front_matter(file.text())
    given = fields.get("metadata")
    inner: Json = given if isinstance(given, dict) else {}
    kind = inner.get("type") or fields.get("type") or DOCUMENTS.get(name)
    title = str(fields.get("name") or PurePosixPath(file.path).stem or "note")
    if name == "claude.md":
        imports: list[str] = re.findall(r"(?<!\S)@([\w~./-]+\w)", prose(body))
        if imports:
            notes.remark(f"{file.place()}: not followed are its imports of {', '.join(imports)}")
    changed = moment(inner.get("modified"), "metadata.modified")
    return Memory(
        file.place(),
        f"{folder}/{title}",
        text_of(body.strip(), "the note"),
        lineage=f"{folder}/{title}",
        category=category("claude-code", kind),
        made=changed,
        changed=changed,
        source="claude-code",
        session=inner.get("originSessionId"),
        metadata=stated(name=title, description=fields.get("description"), path=file.path),
    )


def _folder(file: File) -> str:
    """The project of a memory file: the folder above `memory`, or the one that it lies in."""
    parts = [part for part in PurePosixPath(file.path).parts[:-1] if part != "memory"]
    return parts[-1] if parts else "project"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.removesuffix(".md").lower()).strip("-")
