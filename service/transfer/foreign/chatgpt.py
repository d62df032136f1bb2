"""ChatGPT's export: `conversations.json`, or several of them, by themselves or in their zip (as of 2026). Nobody documents it."""

import re
from collections.abc import Iterator
from typing import Any

from service.transfer.foreign.chats import path_to
from service.transfer.foreign.items import first_of, iterate_items, make_records
from service.transfer.foreign.markdown import strip_between_marks
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Turn
from service.transfer.foreign.sources import File, Source
from service.transfer.foreign.values import (
    WrongValue,
    identity_of,
    join_category_path,
    keep_stated_fields,
    object_of,
    parse_moment,
    shorten_label,
    shorten_repeated_text,
    text_of,
)

CITATIONS = (("\ue200", "\ue201"), ("【", "】"))
MARKS = re.compile("[\ue200-\ue203]")
CONVERSATIONS = re.compile(r"(?:^|/)conversations[^/]*+(?<=\.json)$")
SEEN = ("text", "multimodal_text")
ROLES = ("user", "assistant")


def read_chatgpt(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """The turns that were seen, and what was written to the saved memories (`bio`)."""
    for file in conversation_files(source):
        yield from make_records(
            iterate_items(file, notes, "conversations"), notes, lambda place, item: _read_conversation(place, item, notes)
        )


def conversation_files(source: Source) -> list[File]:
    """The file that was given, or those of an export that hold conversations."""
    if source.only_file is not None:
        return [source.only_file]
    return [file for file in source.files if CONVERSATIONS.search(file.path)]


def _read_conversation(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    session = identity_of(first_of(item, "conversation_id", "id"), "conversation_id")
    if item.get("is_do_not_remember"):
        notes.count_omission("conversations that are not to be remembered")
        return
    mapping = {key: node for key, node in object_of(item.get("mapping"), "mapping").items() if isinstance(node, dict)}
    leaf = item.get("current_node")
    path = path_to(leaf, mapping, lambda node: node.get("parent"), frozenset())
    notes.count_omission(
        "messages on branches that were given up",
        sum(1 for node in mapping.values() if node.get("message")) - sum(1 for node in path if node.get("message")),
    )
    about = keep_stated_fields(
        title=shorten_repeated_text(item.get("title")), project=shorten_repeated_text(item.get("conversation_template_id"))
    )
    for node in path:
        message = node.get("message")
        if message is None:
            continue
        here = f"{place}.mapping.{node.get('id')}"
        try:
            record = _read_message(here, object_of(message, "message"), session, about, notes)
        except WrongValue as error:
            notes.note_error(here, str(error))
            continue
        if record is not None:
            yield record


def _read_message(place: str, message: Json, session: str, about: Json, notes: ImportNotes) -> Record | None:
    role = object_of(message.get("author"), "author").get("role")
    metadata = object_of(message.get("metadata") or {}, "metadata")
    content = object_of(message.get("content"), "content")
    kind, recipient = content.get("content_type"), message.get("recipient") or "all"
    if message.get("weight") == 0 or metadata.get("is_visually_hidden_from_conversation") or role not in ROLES:
        notes.count_omission("hidden messages, and those of system and tools")
        return None
    key = text_of(message.get("id"), "id")
    said = parse_moment(message.get("create_time"), "create_time")
    text = _join_text(content, notes) if kind in SEEN else ""
    if recipient == "bio" and text:
        return Memory(
            place,
            key,
            text,
            category=join_category_path("chatgpt/saved"),
            made=said,
            source="chatgpt",
            session=shorten_label(session),
            metadata=about,
        )
    if recipient != "all" or kind not in SEEN:
        notes.count_omission(f"messages of type {kind!r}" if kind not in SEEN else "calls of tools")
        return None
    if not text:
        notes.count_omission("messages without words")
        return None
    files = [each.get("name") for each in metadata.get("attachments") or [] if isinstance(each, dict)]
    more = keep_stated_fields(source_system="chatgpt", model=metadata.get("model_slug"), attachments=files, **about)
    return Turn(place, key, session, str(role), text, said, more)


def _join_text(content: Json, notes: ImportNotes) -> str:
    parts: Any = content.get("parts")
    if not isinstance(parts, list):
        raise WrongValue("content.parts: must be a list")
    notes.count_loss("images and other parts that are no text", sum(1 for part in parts if not isinstance(part, str)))
    return MARKS.sub("", strip_between_marks("\n".join(part for part in parts if isinstance(part, str)), *CITATIONS)).strip()
