"""Letta: agent files (`.af`, of version 2 and of 0.6), pages of messages and of passages, and what Letta Code keeps."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from service.transfer.foreign import letta_code
from service.transfer.foreign.claude_code import without_machine
from service.transfer.foreign.items import is_list, iterate_items, make_records
from service.transfer.foreign.records import ImportNotes, Json, Memory, Record, Turn, Unreadable
from service.transfer.foreign.sources import Source
from service.transfer.foreign.values import (
    WrongValue,
    join_category_path,
    keep_stated_fields,
    list_of,
    object_of,
    parse_moment,
    shorten_label,
    text_of,
    words_of,
)

ROLES = ("system", "user", "assistant", "tool", "approval", "summary")
SAID = {"user_message": "user", "assistant_message": "assistant"}  # of a page of messages
UNKNOWN_PARTS = ("tools", "tool_rules", "mcp_servers", "skills", "groups", "files", "sources", "tool_exec_environment_variables")


def read_letta(source: Source, notes: ImportNotes) -> Iterator[Record]:
    """Blocks, each in a lineage of its agent and label; what was said; passages."""
    if letta_code.is_stored(source):
        yield from letta_code.read(source, notes)
        return
    for file in source.files:
        if is_list(file):
            yield from make_records(iterate_items(file, notes), notes, lambda place, item: _listed(place, item, notes))
            continue
        whole = object_of_file(file.read_json(), file.describe_place())
        for name in UNKNOWN_PARTS:
            notes.count_loss(name, len(whole[name]) if isinstance(whole.get(name), list) else 0)
        if "core_memory" in whole:
            yield from _read_agent(file.describe_place("agent"), whole, whole["core_memory"], notes)
        blocks = _by_id(whole.get("blocks"), notes)
        for number, agent in enumerate(_require_list(whole.get("agents"))):
            place = file.describe_place(f"agents[{number}]")
            if not isinstance(agent, dict):
                notes.note_error(place, "must be an object")
                continue
            yield from _read_agent(place, agent, _list_blocks(place, agent, blocks, notes), notes)


def object_of_file(value: Any, place: str) -> Json:
    """The object that an agent file is. Raises Unreadable."""
    if not isinstance(value, dict):
        raise Unreadable("must be an object", place)
    return value


def _require_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _by_id(blocks: Any, notes: ImportNotes) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for number, block in enumerate(blocks if isinstance(blocks, list) else []):
        place = f"blocks[{number}]"
        if not isinstance(block, dict) or not isinstance(block.get("id"), str):
            notes.note_error(place, "must be an object with an id")
        elif block["id"] in found:
            notes.note_error(place, f"id: {block['id']!r} is there twice")
        else:
            found[block["id"]] = block
    return found


def _list_blocks(place: str, agent: Json, blocks: dict[str, Json], notes: ImportNotes) -> list[Json]:
    found = []
    for key in _require_list(agent.get("block_ids")):
        if isinstance(key, str) and key in blocks:
            found.append(blocks[key])
        else:
            notes.note_error(place, f"block_ids: {key!r} is no block of the file")
    return found


def _read_agent(place: str, agent: Json, blocks: Any, notes: ImportNotes) -> Iterator[Record]:
    name = shorten_label(str(agent.get("name") or "agent"))
    notes.count_loss("system prompts", int(bool(agent.get("system"))))
    notes.count_loss("secrets", len(agent["secrets"]) if isinstance(agent.get("secrets"), dict) else 0)
    for block in blocks if isinstance(blocks, list) else []:
        here = f"{place}.blocks.{block.get('label') if isinstance(block, dict) else '?'}"
        try:
            found = _read_block(here, object_of(block), name, words_of(agent.get("tags")))
        except WrongValue as error:
            notes.note_error(here, str(error))
            continue
        if found is None:
            notes.count_omission("empty blocks")
        else:
            yield found
    for number, message in enumerate(_require_list(agent.get("messages"))):
        here = f"{place}.messages[{number}]"
        try:
            found_turn = _read_turn(here, object_of(message), name, number)
        except WrongValue as error:
            notes.note_error(here, str(error))
            continue
        if found_turn is None:
            notes.count_omission("messages of the system, tools and events, and thoughts")
        else:
            yield found_turn


def _read_block(place: str, block: Json, agent: str, tags: list[str]) -> Memory | None:
    name, value = text_of(block.get("label"), "label"), block.get("value")
    if value == "":
        return None
    made, changed = parse_moment(block.get("created_at"), "created_at"), parse_moment(block.get("updated_at"), "updated_at")
    about = keep_stated_fields(
        label=name, description=block.get("description"), read_only=block.get("read_only") or None, limit=block.get("limit")
    )
    key = f"{agent}/{name}"
    return Memory(
        place,
        key,
        text_of(value, "value"),
        lineage=key,
        category=join_category_path("letta", name),
        tags=tags,
        made=made,
        changed=changed,
        source="user" if name == letta_code.HUMAN else agent,  # of whom it tells; the persona's I is the agent
        metadata=about,
    )


def _read_turn(place: str, message: Json, agent: str, number: int) -> Turn | None:
    """The words in the envelope of the person, and those that the agent gave to `send_message`."""
    role = message.get("role")
    if role not in ROLES:
        raise WrongValue(f"role: must be one of {', '.join(ROLES)}, not {role!r}")
    said = parse_moment(message.get("created_at"), "created_at")
    text: Any = _join_text(message.get("content"))
    if role == "user":
        text = _words_of_user(text)
    elif role == "assistant":
        text = _text_sent_by_agent(message) or ("" if message.get("tool_calls") else text)
    else:
        return None
    if not isinstance(text, str) or not text.strip():
        return None
    key = f"{agent}/{message.get('created_at') or ''}/{number}"
    return Turn(place, key, agent, role, text, said, keep_stated_fields(source_system="letta", agent=agent))


def _words_of_user(text: Any) -> str:
    """Words of a person, without the envelope and what programs wrote beside them; nothing of events."""
    with suppress(ValueError):
        envelope = json.loads(text)
        if isinstance(envelope, dict):
            text = envelope.get("message") if envelope.get("type") == "user_message" else ""
    return without_machine(text).strip() if isinstance(text, str) else ""


def _join_text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    parts = [part.get("text") for part in list_of(content, "content") if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str))


def _text_sent_by_agent(message: Json) -> str:
    for call in list_of(message.get("tool_calls"), "tool_calls"):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and function.get("name") == "send_message":
            try:
                return str(json.loads(function.get("arguments") or "{}").get("message") or "")
            except (ValueError, AttributeError, TypeError):
                raise WrongValue("tool_calls: the arguments of send_message are no JSON") from None
    return ""


def _listed(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    """Items of a page: passages, or messages."""
    if "message_type" not in item:
        yield from _read_passage(place, item, notes)
        return
    role, text = SAID.get(item["message_type"]), _join_text(item.get("content"))
    words = _words_of_user(text) if role == "user" else text.strip()
    if call := item.get("tool_call"):
        role, words = "assistant", _text_sent_by_agent({"tool_calls": [{"function": call}]})
    if role is None or not words:
        notes.count_omission("messages of the system, tools and events, and thoughts")
        return
    agent, conversation = item.get("agent_id"), item.get("conversation_id")
    session = shorten_label("/".join(part for part in (agent, conversation) if isinstance(part, str)) or "letta")
    key = f"{session}/{text_of(item.get('id'), 'id')}"
    yield Turn(
        place,
        key,
        session,
        role,
        words,
        parse_moment(item.get("date"), "date"),
        keep_stated_fields(source_system="letta", agent=agent),
    )


def _read_passage(place: str, item: Json, notes: ImportNotes) -> Iterator[Record]:
    if item.get("is_deleted"):
        notes.count_omission("passages that were deleted there")
        return
    notes.count_loss("embeddings", int(item.get("embedding") is not None))
    key = text_of(item.get("id"), "id")
    made, changed = parse_moment(item.get("created_at"), "created_at"), parse_moment(item.get("updated_at"), "updated_at")
    metadata = object_of(item.get("metadata") or {}, "metadata")
    source, archive = item.get("file_name"), item.get("archive_id")
    yield Memory(
        place,
        key,
        text_of(item.get("text"), "text"),
        lineage=key,
        category=join_category_path("letta/archive"),
        tags=words_of(item.get("tags")),
        made=made,
        changed=changed,
        source=source if isinstance(source, str) else "letta",
        metadata={**metadata, **keep_stated_fields(archive=archive)},
    )
