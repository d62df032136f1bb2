"""Claude's export: conversations, memories and projects, as files, as a zip, or as zips in a zip (as of 2026). Nobody documents it.

`light_metadata` and `users.json` hold persons and logins, and are not opened.
"""

import re
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.chats import path_to
from service.transfer.foreign.items import first_of, is_list, iterate_items, make_records, preview_first_value
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Turn
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    identity_of,
    join_category_path,
    keep_stated_fields,
    kind_of,
    list_of,
    object_of,
    parse_moment,
    shorten_identity,
    shorten_label,
    shorten_repeated_text,
    text_of,
)

ROLES = {"human": "user", "assistant": "assistant"}
ROOT = "00000000-0000-4000-8000-000000000000"
HEADING = re.compile(r"^(?:\*\*([^*\n]++)\*\*[ \t\r]*+|#{1,3}[ \t]++([^\n]++))$", re.MULTILINE)
OPENED = ("conversations", "memories", "projects")


def read_claude(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Turns of the path that was seen last, sections of memories, documents of projects."""
    for file in [source.only_file] if source.only_file is not None else source.files:
        if source.only_file is None and not _is_conversation_file(file.path):
            notes.count_omission("files that hold no conversations, memories or projects, which are not opened")
            continue
        yield from make_records(_list_items(file, notes), notes, lambda place, item: _read_item(place, item, notes))


def _is_conversation_file(path: str) -> bool:
    """Whether a file is one of those that are read: by its own name, or that of its folder or of the archive in the archive."""
    *folders, name = path.split("/")
    packed = any(folder.startswith(OPENED) and folder.endswith(".zip") for folder in folders)
    return name.endswith(".json") and (name.startswith(OPENED) or packed or bool(folders and folders[-1].startswith(OPENED)))


def _list_items(file: File, notes: ImportNotes) -> Iterator[tuple[str, Any]]:
    start = preview_first_value(file)
    if not is_list(file) and isinstance(start, dict) and not isinstance(start.get("conversations"), list):
        yield file.describe_place(), file.read_json()
    else:
        yield from iterate_items(file, notes, "conversations")


def _read_item(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    if "data_files" in item:
        notes.count_omission("the list of what an export consists of")
    elif {"conversations_memory", "project_memories", "memory_files"} & item.keys():
        yield from _read_memories(place, item, notes)
    elif "docs" in item or "prompt_template" in item:
        yield from _read_project(place, item)
    else:
        yield from _read_conversation(place, item, notes)


def _read_conversation(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    session = identity_of(item.get("uuid"), "uuid")
    messages = [object_of(message, "chat_messages") for message in list_of(item.get("chat_messages"), "chat_messages")]
    if not messages:
        notes.count_omission("conversations without messages")
        return
    path = _follow_newest_path(messages)
    notes.count_omission("messages on branches that were given up", len(messages) - len(path))
    for message in path:
        here = f"{place}.{message.get('uuid')}"
        try:
            turn = _read_turn(here, message, session, item, notes)
        except WrongValue as error:
            notes.note_error(here, str(error))
            continue
        if turn is not None:
            yield turn


def _follow_newest_path(messages: list[Json]) -> list[Json]:
    """The messages up from the newest one; in order of time, where the file does not say what answers what."""
    ordered = sorted(messages, key=lambda message: str(message.get("created_at") or ""))
    if not any("parent_message_uuid" in message for message in messages):
        return ordered
    nodes = {message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)}
    return path_to(ordered[-1].get("uuid"), nodes, lambda node: node.get("parent_message_uuid"), frozenset({ROOT}))


def _read_turn(place: str, message: Json, session: str, about: Json, notes: ImportNotes) -> Turn | None:
    sender = message.get("sender")
    if not isinstance(sender, str) or sender not in ROLES:
        raise WrongValue(f"sender: must be human or assistant, not {sender!r}")
    key = text_of(message.get("uuid"), "uuid")
    parts = [part for part in list_of(message.get("content"), "content") if isinstance(part, dict)]
    texts = [part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)]
    notes.count_omission("thoughts, and calls of tools with their results", sum(1 for part in parts if part.get("type") != "text"))
    words = "\n\n".join(texts) or message.get("text") or ""
    attachments = [each for each in list_of(message.get("attachments"), "attachments") if isinstance(each, dict)]
    pasted = [each["extracted_content"] for each in attachments if isinstance(each.get("extracted_content"), str)]
    files = [each.get("file_name") for each in list_of(message.get("files"), "files") if isinstance(each, dict)]
    notes.count_loss("files, of which an export has the names only", len(files))
    content = "\n\n".join(text for text in (words, *pasted) if isinstance(text, str) and text.strip())
    if not content:
        notes.count_omission("messages without words")
        return None
    names = [name for name in (*files, *(each.get("file_name") for each in attachments)) if name]
    more = keep_stated_fields(
        source_system="claude", title=shorten_repeated_text(about.get("name")), files=names, pasted=len(pasted) or None
    )
    return Turn(place, key, session, ROLES[sender], content, parse_moment(message.get("created_at"), "created_at"), more)


def _read_memories(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    account = shorten_identity(str(item.get("account_uuid") or "account"))
    whole: list[tuple[str, Any, str | None]] = [("conversations_memory", item.get("conversations_memory"), None)]
    projects = object_of(item.get("project_memories") or {}, "project_memories")
    whole += [(f"project_memories.{uuid}", text, uuid) for uuid, text in projects.items()]
    for name, text, project in whole:
        if text is None:
            continue
        if not isinstance(text, str):
            notes.note_error(f"{place}.{name}", f"must be text, not {kind_of(text)}")
            continue
        for heading, body in _split_sections(text):
            key = f"{account}/{project or 'conversations'}/{heading}"
            yield Memory(
                f"{place}.{name}",
                key,
                body,
                lineage=key,
                category=join_category_path("claude", project and f"project/{project}", heading),
                source="claude",
                metadata=keep_stated_fields(heading=heading, project=project),
            )
    for number, file in enumerate(list_of(item.get("memory_files"), "memory_files")):
        here = f"{place}.memory_files[{number}]"
        try:
            yield _read_project_file(here, object_of(file), account)
        except WrongValue as error:
            notes.note_error(here, str(error))


def _split_sections(text: str) -> Iterator[tuple[str, str]]:
    """The sections of a memory by their headings; what stands before the first has none."""
    headings = list(HEADING.finditer(text))
    if text[: headings[0].start() if headings else None].strip():
        yield "memory", text[: headings[0].start() if headings else None].strip()
    for heading, following in zip(headings, [*headings[1:], None], strict=False):
        body = text[heading.end() : following.start() if following else None].strip()
        if body:
            yield shorten_label((heading[1] or heading[2]).strip()), body


def _read_project_file(place: str, file: Json, account: str) -> Memory:
    path = text_of(file.get("path"), "path")
    if ".." in path.split("/"):
        raise WrongValue(f"path: {path!r} leads out of the memory")
    changed = parse_moment(file.get("updated_at"), "updated_at")
    folder = path.strip("/").rpartition("/")[0]
    return Memory(
        place,
        f"{account}{path}",
        text_of(file.get("content"), "content"),
        lineage=f"{account}{path}",
        category=join_category_path("claude", folder),
        made=changed,
        changed=changed,
        source="claude",
        metadata={"path": path},
    )


def _read_project(place: str, item: Json) -> Iterator[Record]:
    uuid, name = identity_of(item.get("uuid"), "uuid"), first_of(item, "name") or ""
    made, changed = parse_moment(item.get("created_at"), "created_at"), parse_moment(item.get("updated_at"), "updated_at")
    about = [part for part in (item.get("description"), item.get("prompt_template")) if isinstance(part, str) and part.strip()]
    if about:
        yield Memory(
            place,
            uuid,
            "\n\n".join([f"Project {name}:", *about]),
            lineage=uuid,
            category=join_category_path("claude/project", name),
            made=made,
            changed=changed,
            source="claude",
            metadata=keep_stated_fields(project=uuid, name=shorten_repeated_text(name)),
        )
    for number, file in enumerate(list_of(item.get("docs"), "docs")):
        document = object_of(file, f"docs[{number}]")
        key, at = text_of(document.get("uuid"), "docs.uuid"), parse_moment(document.get("created_at"), "docs.created_at")
        text, title = text_of(document.get("content"), "docs.content"), document.get("filename")
        yield Memory(
            f"{place}.docs[{number}]",
            key,
            text,
            lineage=key,
            category=join_category_path("claude/project", name),
            made=at,
            changed=at,
            source="claude",
            metadata=keep_stated_fields(project=uuid, file=title),
        )
