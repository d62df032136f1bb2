"""Letta Code: its folder `~/.letta/lc-local-backend` (versions 0.3x), a conversation of it, or what `letta memory export` wrote.

A memory is a Markdown file of an agent, with the same lineage as the block of that label in an agent file.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from service.transfer.foreign.claude_code import without_machine
from service.transfer.foreign.items import first_lines, iterate_line_values
from service.transfer.foreign.markdown import front_matter
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Turn, Unreadable
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    join_category_path,
    keep_stated_fields,
    list_of,
    object_of,
    parse_moment,
    shorten_label,
    text_of,
)

HUMAN = "human"  # the file, or the block, about the person
INDEX = "memory.md"
SKILLS = "skills"  # a folder of programs


def is_message(value: Json) -> bool:
    """Whether a line of a session is one of Letta Code: others write such sessions too, without its ids."""
    message = value.get("message")
    metadata = message.get("metadata") if isinstance(message, dict) else None
    return isinstance(metadata, dict) and {"agent_id", "conversation_id"} <= metadata.keys()


def is_stored(source: Source) -> bool:
    """Whether these files are of Letta Code, and not agent files or pages."""
    return any(file.path.endswith(".md") or any(map(is_message, first_lines(file))) for file in source.files)


def read(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Turns, by conversation; memory files, each in a lineage of its agent and its path."""
    names = _agent_names(source)
    for file in source.files:
        folders = PurePosixPath(file.path).parts[:-1]
        if SKILLS in folders:
            notes.count_omission("files of skills")
        elif file.path.endswith(".md"):
            yield from _memory_file(file, names, notes)
        elif source.only_file is not None or file.path.endswith(".jsonl"):
            yield from _conversation(file, names, notes)
        elif "agents" not in folders:
            notes.count_omission("files of settings and system prompts")


def _agent_names(source: Source) -> dict[str, str]:
    """The names of agents by their ids."""
    names = {}
    for file in source.files:
        if PurePosixPath(file.path).parent.name == "agents" and file.path.endswith(".json"):
            with suppress(Unreadable):
                agent = file.read_json()
                if isinstance(agent, dict) and isinstance(agent.get("name"), str):
                    names[str(agent.get("id"))] = shorten_label(agent["name"])
    return names


def _conversation(file: File, names: dict[str, str], notes: ImportNotes) -> Iterator[Turn]:
    for place, item in iterate_line_values(file, notes):
        try:
            found = _turn(place, object_of(item), names, notes)
        except WrongValue as error:
            notes.note_error(place, str(error))
            continue
        if found is not None:
            yield found


def _turn(place: str, item: Json, names: dict[str, str], notes: ImportNotes) -> Turn | None:
    if item.get("type") != "message":
        notes.count_omission(f"lines of type {item.get('type')!r}") if item.get("type") != "session" else None
        return None
    message = object_of(item.get("message"), "message")
    metadata = object_of(message.get("metadata") or {}, "message.metadata")
    role, words = message.get("role"), _words(message.get("content"))
    if role not in ("user", "assistant") or not words:
        notes.count_omission("results of tools, and messages without words")
        return None
    agent = names.get(str(metadata.get("agent_id")), "agent")
    conversation = shorten_label(text_of(metadata.get("conversation_id"), "message.metadata.conversation_id"))
    said = parse_moment(item.get("timestamp"), "timestamp")
    key = f"{metadata.get('agent_id')}/{conversation}/{text_of(item.get('id'), 'id')}"
    return Turn(
        place, key, f"{agent}/{conversation}", role, words, said, keep_stated_fields(agent=agent, model=message.get("model"))
    )


def _words(content: Any) -> str:
    """Turns without the program's notes to the model."""
    if isinstance(content, str):
        return without_machine(content).strip()
    parts = [
        part.get("text") for part in list_of(content, "message.content") if isinstance(part, dict) and part.get("type") == "text"
    ]
    return without_machine("\n\n".join(part for part in parts if isinstance(part, str))).strip()


def _memory_file(file: File, names: dict[str, str], notes: ImportNotes) -> Iterator[Memory]:
    """`MEMORY.md` is an index of the others and is left out."""
    parts = PurePosixPath(file.path).parts
    if parts[-1].lower() == INDEX:
        notes.count_omission("indexes of memory files (MEMORY.md)")
        return
    root = parts.index("memory") + 1 if "memory" in parts[:-1] else 0
    agent = names.get(parts[root - 2], shorten_label(parts[root - 2])) if root > 1 else "agent"
    name = "/".join(parts[root:]).removesuffix(".md")
    fields, body = front_matter(file.read_text())
    try:
        text = text_of(body.strip(), "the file")
    except WrongValue as error:
        notes.note_error(file.describe_place(), str(error))
        return
    yield Memory(
        file.describe_place(),
        f"{agent}/{name}",
        text,
        lineage=f"{agent}/{name}",
        category=join_category_path("letta", name),
        source="user" if name == HUMAN else agent,
        metadata=keep_stated_fields(label=name, description=fields.get("description")),
    )
