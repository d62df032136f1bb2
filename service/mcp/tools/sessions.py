"""Tools for working memory, and the context of an answer."""

import json

from pydantic import Field, JsonValue

from service.mcp.result_texts import (
    ENTRY,
    JsonObject,
    Shown,
    entry_line,
    fit_rows,
    format_moment,
    format_value,
    keep_telling_fields,
    shorten_result,
    tell_unembedded_count,
)
from service.mcp.tool import (
    AnyTag,
    Arguments,
    Call,
    CategoryFilter,
    MaxChars,
    Name,
    Names,
    Prefix,
    Session,
    Tool,
    User,
    in_session,
    quote_path_segment,
)

AFTER = 250  # characters that are said after a context, at most


class SaveEntry(Arguments):
    """An entry of working memory."""

    key: Name = Field(description="Name in your space")
    data: JsonValue = Field(description="Text or any JSON")
    ttl_minutes: float | None = Field(None, gt=0, le=366 * 24 * 60, description="Default 5")  # checked here: REST counts seconds
    category: str | None = None
    tags: Names | None = None


class EntryKey(Arguments):
    """One entry of working memory."""

    key: Name = Field(description="Name in your space, or a full path such as patrol/p/plan")


class ReadEntry(EntryKey):
    """One entry to read."""

    max_chars: MaxChars | None = None


class ListEntries(Arguments):
    """The owner of the entries."""

    namespace: Prefix | None = None
    max_chars: MaxChars | None = None


class SearchEntries(Arguments):
    """The words to look for in working memory."""

    query: str | None = Field(None, description="Without it: newest first")
    category: CategoryFilter | None = None
    tags: AnyTag | None = None
    namespace: Prefix | None = None
    max_chars: MaxChars | None = None


class GetContext(Arguments):
    """The message that the next answer is about."""

    message: str | None = Field(None, description="The user's message")
    user: User | None = None
    session_id: Session | None = None
    k: int | None = Field(None, description="Memories at most; default 8")
    min_relevance: float | None = Field(None, description="Leave out what answers less likely, 0 to 1")
    max_chars: MaxChars | None = Field(None, description="Of the text; default 16000")
    repeat: bool | None = Field(None, description="Also what this conversation was shown before")


def _save_entry(given: JsonObject, _: str | None) -> Call:
    key, minutes = given.pop("key"), given.pop("ttl_minutes", None)
    body = {"value": given.pop("data", None), **given, **({} if minutes is None else {"ttl_seconds": minutes * 60})}
    return Call("PUT", _entry_path(key), body)


def _list_entries(given: JsonObject, _: str | None) -> Call:
    return Call("GET", "/working-memory", params={"limit": 100, **_make_prefix(given)})


def _search_entries(given: JsonObject, _: str | None) -> Call:
    prefix = _make_prefix(given)
    return Call("POST", "/working-memory/search", {**given, **prefix})


def _make_prefix(given: JsonObject) -> JsonObject:
    return {"prefix": given.pop("namespace").rstrip("/")} if "namespace" in given else {}


def _entry_path(key: str) -> str:
    return "/working-memory/" + "/".join(map(quote_path_segment, key.split("/")))


def _call_context(given: JsonObject, session: str | None) -> Call:
    """A context leaves room for what is said after it."""
    room = given["max_chars"]
    return in_session("/context")({**given, "max_chars": max(room - AFTER, room // 2)}, session)


def show_stored_entry(reply: JsonObject, _: int) -> Shown:
    """An entry that was written."""
    return f"Stored as {format_value(reply['key'])}; it expires {format_moment(reply['expires_at'])}.", keep_telling_fields(reply)


def show_entry(reply: JsonObject, room: int) -> Shown:
    """An entry in full, as far as it fits: its value alone, as it is."""
    value = reply["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    data = keep_telling_fields(reply, ENTRY)
    return text, data if len(text) <= room else shorten_result(data, room)


def show_keys(reply: JsonObject, room: int) -> Shown:
    """Keys of working memory."""
    more = "\n… and more: pass a longer prefix as namespace." if reply.get("next_cursor") else ""
    listing = fit_rows(reply["items"], entry_line, room - len(more), "Nothing there.", by="a longer prefix as namespace")
    return listing.text + more, {"entries": [keep_telling_fields(row) for row in reply["items"][: listing.shown]]}


def entries_found(reply: JsonObject, room: int) -> Shown:
    """Entries that a search found."""
    rows: list[JsonObject] = reply["items"]
    listing = fit_rows(rows, entry_line, room, "Nothing found in working memory.", by="a longer prefix as namespace")
    return listing.text, {
        "results": [shorten_result(keep_telling_fields(row, ENTRY), listing.longest) for row in rows[: listing.shown]]
    }


def show_removal(_: JsonObject, __: int) -> Shown:
    """An entry that was deleted."""
    return "Deleted.", {"deleted": True}


def show_context(reply: JsonObject, _: int) -> Shown:
    """The context before the next answer."""
    data = keep_telling_fields(
        {**reply, "waiting": reply["waiting"] or None}, ("session_id", "space", "first", "text", "truncated", "waiting")
    )
    text = reply["text"] or "Nothing to add to this conversation."
    if held := reply["held_back"]:
        text += f"\n{held} that this conversation was shown before left out; repeat shows them again."
    ids = {name: [row["id"] for row in reply[name]] for name in ("profile", "memories")}
    return text + tell_unembedded_count(reply), data | keep_telling_fields(ids) | {"memories": ids["memories"]}


TOOLS = [
    Tool(
        "save_to_working_memory",
        "Save to working memory",
        "replaces",
        "Put data aside for minutes: large or partial results, a handover to another agent. Replaces what the key holds. What "
        "should outlive the conversation belongs in save_memory.",
        SaveEntry,
        _save_entry,
        show_stored_entry,
        {"ttl_seconds": "ttl_minutes", "value": "data"},
    ),
    Tool(
        "get_from_working_memory",
        "Get from working memory",
        "reads",
        "Read one entry of working memory in full: your own by its name, another's by its full path.",
        ReadEntry,
        lambda given, _: Call("GET", _entry_path(given["key"])),
        show_entry,
        missing="Call list_working_memory for the keys that there are; entries expire.",
    ),
    Tool(
        "list_working_memory",
        "List working memory",
        "reads",
        "Keys of working memory and when they expire: what you, or others, have put aside, without the data.",
        ListEntries,
        _list_entries,
        show_keys,
        {"prefix": "namespace"},
    ),
    Tool(
        "search_working_memory",
        "Search working memory",
        "reads",
        "Find entries of working memory by words, meaning, category or tags, your own or others', with their data.",
        SearchEntries,
        _search_entries,
        entries_found,
        {"prefix": "namespace"},
    ),
    Tool(
        "delete_from_working_memory",
        "Delete from working memory",
        "deletes",
        "Remove an entry of your own space that is no longer needed. Entries expire by themselves.",
        EntryKey,
        lambda given, _: Call("DELETE", _entry_path(given["key"])),
        show_removal,
        missing="It may have expired: then there is nothing to do.",
    ),
    Tool(
        "get_context",
        "Get context",
        "adds",
        "Everything to know before answering a message: memories not yet shown in this conversation, relations, working memory, "
        "the last turns. Call it first, once a turn; then search only for what is missing.",
        GetContext,
        _call_context,
        show_context,
        speaker="user",
        sized=True,
    ),
]
