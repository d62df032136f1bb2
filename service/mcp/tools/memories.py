"""Tools for memories: save one, delete one, list categories, show a history."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from loci.models.memories import OnDuplicate
from service.mcp.result_texts import (
    BESIDE,
    VERSION,
    JsonObject,
    Listing,
    Shown,
    cut_strings,
    event_line,
    fit_rows,
    format_brackets,
    format_moment,
    format_period,
    format_value,
    how_to_settle,
    keep_telling_fields,
    may_outdate,
    memory_line,
    shorten_result,
    tell_next_page,
)
from service.mcp.tool import (
    About,
    Arguments,
    Call,
    Category,
    Cursor,
    MaxChars,
    Name,
    Names,
    Time,
    Tool,
    of_session,
    quote_path_segment,
)
from service.text.subject import format_statement

OPEN_PAIRS = 20  # that are listed
REST_NAMES = {"old": "older"}
SAID = {"replaces": "ended", "corrects": "was never true", "both_true": "is true as well"}


def _word_verdict(value: object) -> object:
    """A verdict as it is spoken."""
    return value.replace("_", " ") if isinstance(value, str) else value


class ListCategories(Arguments):
    """How much of the tree."""

    max_chars: MaxChars | None = None


class SaveMemory(Arguments):
    """A statement to keep."""

    content: str = Field(description="A statement that stands alone: full names, no 'he' or 'yesterday'")
    category: Category | None = None
    tags: Names | None = None
    about: About | None = None
    valid_from: Time | None = Field(None, description="Since when it is true; default now")
    replaces: UUID | None = Field(None, description="Id of the memory that was true until then")
    corrects: UUID | None = Field(None, description="Id of the memory that was never true")
    on_duplicate: OnDuplicate | None = Field(None, description="Of an exact repetition; default reinforce")


class UpdateMemory(Arguments):
    """Changes of one memory; its words change by saving a new one."""

    id: UUID = Field(description="As in [id] of a result")
    category: str | None = None
    tags: Names | None = None
    about: str | None = None
    importance: float | None = Field(None, description="How much it matters, 0 to 1")
    valid_from: Time | None = Field(None, description="Since when it is true")
    valid_to: Time | None = Field(None, description="Until when it was true")


class DeleteMemory(Arguments):
    """One memory."""

    id: UUID = Field(description="As in [id] of a result")


class History(Arguments):
    """The lineage or entity, and the part of its history."""

    ref: Name = Field(description="Id, lineage, or an entity's name")
    limit: int | None = Field(None, description="Default 50")
    cursor: Cursor | None = None
    as_of: Time | None = Field(None, description="What had begun by then")
    known_at: Time | None = Field(None, description="What was known then")
    max_chars: MaxChars | None = None


class Settle(Arguments):
    """Two memories and which of them holds; nothing: which are open."""

    new: UUID | None = Field(None, description="Id of the later one")
    old: UUID | None = Field(None, description="Id of the one it may outdate")
    verdict: Annotated[Literal["replaces", "corrects", "both true"], BeforeValidator(_word_verdict)] | None = Field(
        None, description="replaces: the old one was true until then; corrects: it was never true"
    )


def _save_memory(given: JsonObject, session: str | None) -> Call:
    return Call("POST", "/memories", {**given, "enrich": True, "compare": True, **of_session(session)})


def _update_memory(given: JsonObject, _: str | None) -> Call:
    return Call("PATCH", f"/memories/{given.pop('id')}", given)


def _call_settle(given: JsonObject, _: str | None) -> Call:
    if not given:
        return Call("GET", "/memories/unsettled", params={"limit": OPEN_PAIRS})
    if "verdict" in given:
        given["verdict"] = given["verdict"].replace(" ", "_")
    named = {REST_NAMES.get(name, name): value for name, value in given.items() if name != "new"}
    return Call("POST", f"/memories/{given.get('new')}/settle", named)


def _call_history(given: JsonObject, _: str | None) -> Call:
    ref = given.pop("ref")
    return Call("GET", f"/entities/{quote_path_segment(ref)}/history", params={"limit": 50, **given})


def show_save(reply: JsonObject, _: int) -> Shown:
    """Outcome of a write."""
    names = ("id", "lineage", "version", "superseded", "duplicate", "ignored", "content", "about", "category", "tags", "valid_from")
    facts = shorten_result(keep_telling_fields(reply, names)) | keep_telling_fields(reply.get("enrichment") or {}, ("job_id",))
    if reply["duplicate"]:
        known = f"Known already as [{reply['id']}]; it is reinforced, nothing was added."
        ignored = [name for name in reply["ignored"] or () if name != "session_id"]  # which the agent did not state
        left = f" Not taken over: {format_value(', '.join(ignored))}. With on_duplicate update they are." if ignored else ""
        return known + left, facts
    unsettled = reply.get("unsettled") or []
    text = "\n".join([f"Saved as [{reply['id']}].", *may_outdate(unsettled)]) + how_to_settle(unsettled)
    return text, facts | keep_telling_fields(reply, ("unsettled",))


def show_update(reply: JsonObject, _: int) -> Shown:
    """A memory as it is now."""
    return memory_line(reply), shorten_result(keep_telling_fields(reply, VERSION))


def show_settlement(reply: JsonObject, room: int) -> Shown:
    """The settled pair, or the open pairs."""
    if "items" in reply:
        tail = how_to_settle(reply["items"]) + ("\n… and more." if reply["next_cursor"] else "")
        listing = fit_rows(reply["items"], _format_pair, room - len(tail), "Nothing is open.")
        return listing.text + tail, {"unsettled": cut_strings(reply["items"][: listing.shown], listing.longest)}
    newer, older = reply["newer"], reply["older"]
    new, old = format_value(newer["content"], text=True), format_value(older["content"], text=True)
    text = f"[{newer['id']}]: {new}\n[{older['id']}] {SAID[reply['verdict']]}: {old}"
    return text, {
        "verdict": reply["verdict"],
        "new": shorten_result(keep_telling_fields(newer, VERSION)),
        "old": shorten_result(keep_telling_fields(older, VERSION)),
    }


def _format_pair(pair: JsonObject, longest: int | None) -> str:
    newer, older = pair["newer"], pair["older"]
    half = None if longest is None else longest // 2
    new, old = (
        format_value(each["content"], text=True, longest=half, rest=f'memory_history("{each["id"]}")') for each in (newer, older)
    )
    return f"[{newer['id']}] {new}\n  may outdate [{older['id']}] (since {format_moment(older['valid_from'])}): {old}"


def show_deletion(reply: JsonObject, _: int) -> Shown:
    """A forgotten memory."""
    shown = f"[{reply['id']}] any more: {format_value(reply['content'], text=True)}"
    text = f"Nothing changed: it was deleted before. No search finds {shown}"
    return (
        text if reply["already_forgotten"] else f"Deleted: no search finds {shown}",
        shorten_result(keep_telling_fields(reply, ("id", "status", "content", "already_forgotten"))),
    )


def show_categories(reply: JsonObject, room: int) -> Shown:
    """The tree of categories."""
    listing = fit_rows(reply["items"], _format_category, room, "No memories yet, so no categories.")
    return listing.text, {"categories": reply["items"][: listing.shown]}


def _format_category(row: JsonObject, _: int | None) -> str:
    below = f" ({row['total']} with those below)" if row["total"] != row["memories"] else ""
    return f"{format_value(row['category'])}: {row['memories']}{below}"


def show_history(reply: JsonObject, room: int) -> Shown:
    """Versions of a memory, or what happened around an entity; one that is alone has all the room."""
    versions = bool(reply["items"]) and "version" in reply["items"][0]
    tail = tell_next_page(reply)
    line = _format_version if versions else event_line
    if len(reply["items"]) == 1:
        alone = room - BESIDE - len(tail)
        listing = Listing(line(reply["items"][0], alone), 1, alone)
    else:
        listing = fit_rows(reply["items"], line, room - len(tail), "Nothing more.", by="a smaller limit and then the cursor")
    fields = VERSION if versions else None
    rows = [shorten_result(keep_telling_fields(row, fields), listing.longest) for row in reply["items"][: listing.shown]]
    whole = listing.shown == len(reply["items"])
    return listing.text + (tail if whole else ""), {"items": rows} | keep_telling_fields(reply, ("next_cursor",) if whole else ())


def _format_version(row: JsonObject, longest: int | None) -> str:
    """One version, in full where there is room: it is what cut results lead to."""
    never = "never true, corrected" if row["valid_to"] == row["valid_from"] else format_period(row)
    forgotten = "deleted" if row["status"] == "forgotten" else None
    content = format_value(format_statement(row), text=True, longest=longest, rest="a larger max_chars")
    return f"version {row['version']} [{row['id']}]{format_brackets(row['category'], never, forgotten)}: {content}"


TOOLS = [
    Tool(
        "save_memory",
        "Save a memory",
        "adds",
        "Keep one fact, preference or decision for later conversations. Where something changed, name the memory that it "
        "replaces; where one was wrong, the one that it corrects. For a text with several facts use retain; for notes of the next "
        "minutes save_to_working_memory.",
        SaveMemory,
        _save_memory,
        show_save,
        speaker="source",
    ),
    Tool(
        "update_memory",
        "Update a memory",
        "changes",
        "Change category, tags, subject, importance or time of a memory. Its words change by save_memory with replaces or "
        "corrects.",
        UpdateMemory,
        _update_memory,
        show_update,
        missing="Call recall for the ids that there are.",
    ),
    Tool(
        "delete_memory",
        "Delete a memory",
        "deletes",
        "Make an unwanted memory unfindable; an operator can restore it. Where something changed, save the new state with "
        "replaces instead.",
        DeleteMemory,
        lambda given, _: Call("DELETE", f"/memories/{given['id']}"),
        show_deletion,
        missing="Call recall for the ids that there are.",
    ),
    Tool(
        "settle",
        "Settle",
        "changes",
        "Say which of two memories holds, where a new one may outdate an old one, as replies say. Without arguments: the pairs "
        "that are open.",
        Settle,
        _call_settle,
        show_settlement,
        {"older": "old", "id": "new"},
        missing="Call settle without arguments for the pairs that are open.",
    ),
    Tool(
        "list_memory_categories",
        "List categories",
        "reads",
        "All categories as paths, with how many memories each holds, to choose one before saving or filtering.",
        ListCategories,
        lambda _, __: Call("GET", "/categories"),
        show_categories,
    ),
    Tool(
        "memory_history",
        "History",
        "reads",
        "Every version of a memory in full, oldest first, with when each was true; or what happened around an entity. Use it "
        "to see what changed, or a memory that a search has cut.",
        History,
        _call_history,
        show_history,
        missing="Call recall: it shows ids and names entities.",
    ),
]
