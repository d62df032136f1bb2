"""Tools for working memory, and the context of an answer."""

import json

from pydantic import Field, JsonValue

from service.mcp.text import ENTRY, JsonObject, Shown, entry_line, fit_rows, kept, moment, shortened, waiting, written
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
    segment,
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
    return Call("PUT", _entry(key), body)


def _list_entries(given: JsonObject, _: str | None) -> Call:
    return Call("GET", "/working-memory", params={"limit": 100, **_prefix(given)})


def _search_entries(given: JsonObject, _: str | None) -> Call:
    prefix = _prefix(given)
    return Call("POST", "/working-memory/search", {**given, **prefix})


def _prefix(given: JsonObject) -> JsonObject:
    return {"prefix": given.pop("namespace").rstrip("/")} if "namespace" in given else {}


def _entry(key: str) -> str:
    return "/working-memory/" + "/".join(map(segment, key.split("/")))


def _context(given: JsonObject, session: str | None) -> Call:
    """A context leaves room for what is said after it."""
    room = given["max_chars"]
    return in_session("/context")({**given, "max_chars": max(room - AFTER, room // 2)}, session)


def stored(reply: JsonObject, _: int) -> Shown:
    """An entry that was written."""
    return f"Stored as {written(reply['key'])}; it expires {moment(reply['expires_at'])}.", kept(reply)


def entry(reply: JsonObject, room: int) -> Shown:
    """An entry in full, as far as it fits: its value alone, as it is."""
    value = reply["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    data = kept(reply, ENTRY)
    return text, data if len(text) <= room else shortened(data, room)


def entries(reply: JsonObject, room: int) -> Shown:
    """Keys of working memory."""
    more = "\n… and more: pass a longer prefix as namespace." if reply.get("next_cursor") else ""
    listing = fit_rows(reply["items"], entry_line, room - len(more), "Nothing there.", by="a longer prefix as namespace")
    return listing.text + more, {"entries": [kept(row) for row in reply["items"][: listing.shown]]}


def entries_found(reply: JsonObject, room: int) -> Shown:
    """Entries that a search found."""
    rows: list[JsonObject] = reply["items"]
    listing = fit_rows(rows, entry_line, room, "Nothing found in working memory.", by="a longer prefix as namespace")
    return listing.text, {"results": [shortened(kept(row, ENTRY), listing.longest) for row in rows[: listing.shown]]}


def removed(_: JsonObject, __: int) -> Shown:
    """An entry that was deleted."""
    return "Deleted.", {"deleted": True}


def context(reply: JsonObject, _: int) -> Shown:
    """The context before the next answer."""
    data = kept({**reply, "waiting": reply["waiting"] or None}, ("session_id", "space", "first", "text", "truncated", "waiting"))
    text = reply["text"] or "Nothing to add to this conversation."
    if held := reply["held_back"]:
        text += f"\n{held} that this conversation was shown before left out; repeat shows them again."
    ids = {name: [row["id"] for row in reply[name]] for name in ("profile", "memories")}
    return text + waiting(reply), data | kept(ids) | {"memories": ids["memories"]}


TOOLS = [
    Tool(
        "save_to_working_memory",
        "Save to working memory",
        "replaces",
        "Put data aside for minutes: large or partial results, a handover to another agent. Replaces what the key holds. What "
        "should outlive the conversation belongs in save_memory.",
        SaveEntry,
        _save_entry,
        stored,
        {"ttl_seconds": "ttl_minutes", "value": "data"},
    ),
    Tool(
        "get_from_working_memory",
        "Get from working memory",
        "reads",
        "Read one entry of working memory in full: your own by its name, another's by its full path.",
        ReadEntry,
        lambda given, _: Call("GET", _entry(given["key"])),
        entry,
        missing="Call list_working_memory for the keys that there are; entries expire.",
    ),
    Tool(
        "list_working_memory",
        "List working memory",
        "reads",
        "Keys of working memory and when they expire: what you, or others, have put aside, without the data.",
        ListEntries,
        _list_entries,
        entries,
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
        lambda given, _: Call("DELETE", _entry(given["key"])),
        removed,
        missing="It may have expired: then there is nothing to do.",
    ),
    Tool(
        "get_context",
        "Get context",
        "adds",
        "Everything to know before answering a message: memories not yet shown in this conversation, relations, working memory, "
        "the last turns. Call it first, once a turn; then search only for what is missing.",
        GetContext,
        _context,
        context,
        speaker="user",
        sized=True,
    ),
]
