"""Tools for texts and orphans: retain, reflect."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from service.mcp.result_texts import (
    JsonObject,
    Shown,
    fit_rows,
    format_brackets,
    format_value,
    how_to_settle,
    keep_telling_fields,
    may_outdate,
    tell_next_page,
)
from service.mcp.tool import (
    About,
    Arguments,
    Call,
    CategoryFilter,
    Cursor,
    DryRun,
    Names,
    Session,
    Tool,
    User,
    in_session,
    parse_list,
)

SHOWN_ROWS = 20  # of what may be hundreds
MESSAGE = {  # what a model is told of a message; REST takes more, and says so
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": ["user", "assistant", "system", "tool"]},
        "content": {"type": "string"},
    },
    "required": ["role", "content"],
    "additionalProperties": False,
}


class Retain(Arguments):
    """A text with facts to keep."""

    content: str = Field(description="Any text")
    category: str | None = None
    tags: Names | None = None
    source: str | None = Field(None, description="Who said it")
    user: User | None = None
    about: About | None = None
    session_id: Session | None = None
    dry_run: DryRun | None = None


class Remember(Arguments):
    """Messages to keep."""

    messages: Annotated[list[Annotated[dict[str, Any], WithJsonSchema(MESSAGE)]], BeforeValidator(parse_list)] = Field(
        description="In order"
    )
    session_id: Session | None = None
    source: str | None = Field(None, description="Who the user is")
    user: User | None = None
    category: str | None = None
    tags: Names | None = None
    dry_run: DryRun | None = None


class Reflect(Arguments):
    """The orphans to put in order."""

    category: CategoryFilter | None = None
    limit: int | None = Field(None, description="Default 200")
    cursor: Cursor | None = None
    dry_run: DryRun | None = None


def show_retain_report(reply: JsonObject, room: int) -> Shown:
    """Decisions about each fact."""
    head, tail = _note_dry_run(reply), _how_to_settle(reply)
    listing = fit_rows(reply["decisions"], _format_fact, room - len(head + tail), "No facts in it.")
    fields = ("fact", "action", "memory_id", "superseded", "target_id", "reason", "signal", "unsettled")
    rows = [keep_telling_fields(row, fields) for row in reply["decisions"][: listing.shown]]
    data = {"decisions": rows, "dry_run": reply["dry_run"]} | keep_telling_fields(reply, ("left_out",))
    return head + listing.text + tail, data | keep_telling_fields(reply, ("skipped",))


def show_remember_report(reply: JsonObject, room: int) -> Shown:
    """How many turns were kept, and what was decided about each fact, with who said it."""
    turns = f"{reply['turns']} turns of session {format_value(reply['session'])}.\n" if reply["session"] else ""
    head, tail = _note_dry_run(reply) + turns, _how_to_settle(reply)
    listing = fit_rows(reply["decisions"], _format_message_fact, room - len(head + tail), "No facts in it.")
    fields = ("message", "source", "fact", "action", "memory_id", "superseded", "target_id", "reason", "signal", "unsettled")
    rows = [keep_telling_fields(row, fields) for row in reply["decisions"][: listing.shown]]
    data = {"decisions": rows, "turns": reply["turns"], "dry_run": reply["dry_run"]}
    return head + listing.text + tail, data | keep_telling_fields(reply, ("session", "entities", "left_out", "skipped"))


def _how_to_settle(reply: JsonObject) -> str:
    return "" if reply["dry_run"] else how_to_settle(row["unsettled"] for row in reply["decisions"])


def _format_fact(row: JsonObject, longest: int | None) -> str:
    return "\n".join([_format_decision(row, longest, row["reason"]), *may_outdate(row["unsettled"])])


def _format_message_fact(row: JsonObject, longest: int | None) -> str:
    return "\n".join([_format_decision(row, longest, f"said by {row['source']}", row["reason"]), *may_outdate(row["unsettled"])])


def _format_decision(row: JsonObject, longest: int | None, *said: str | None) -> str:
    action = "left out" if row["action"] == "nothing" and row["memory_id"] is None else row["action"]
    return f"{action}{_format_references(row)}: {format_value(row['fact'], text=True, longest=longest)}{format_brackets(*said)}"


def _format_references(row: JsonObject) -> str:
    """Which memory it is now, and which it ended."""
    ended = f" instead of [{row['superseded']}]" if row["superseded"] else ""
    return (f" [{row['memory_id']}]" if row["memory_id"] else "") + ended


def show_reflect_report(reply: JsonObject, _: int) -> Shown:
    """Result: counts, and the first memories that were placed."""
    placed, linked, made = reply["placed"], reply["linked"], reply["created"]
    head = (
        f"{len(placed)} placed, {len(made)} parents made, {len(linked)} links made, {reply['orphans_left']} left without a place."
    )
    rows = [
        f"[{row['memory_id']}] stands under {format_value(row['parent'])}{format_brackets(row['reason'])}"
        for row in placed[:SHOWN_ROWS]
    ]
    rest = [f"… and {len(placed) - SHOWN_ROWS} more."] if len(placed) > SHOWN_ROWS else []
    data = {
        "placed": [keep_telling_fields(row, ("memory_id", "parent_id", "parent", "reason")) for row in placed],
        "created": [keep_telling_fields(row, ("id", "lineage", "content", "parent")) for row in made],
        "linked": linked,
        "orphans_left": reply["orphans_left"],
        "dry_run": reply["dry_run"],
    }
    return _note_dry_run(reply) + "\n".join([head, *rows, *rest]) + tell_next_page(reply), data | keep_telling_fields(
        reply, ("next_cursor",)
    )


def _note_dry_run(reply: JsonObject) -> str:
    return "Dry run: nothing was written, this would be done.\n" if reply["dry_run"] else ""


TOOLS = [
    Tool(
        "retain",
        "Retain a text",
        "adds",
        "Keep what a text says, fact by fact: each becomes a new memory, a new version of what it changes, or nothing where it "
        "is known. Use it at the end of a task.",
        Retain,
        in_session("/retain"),
        show_retain_report,
        speaker="user",
    ),
    Tool(
        "remember",
        "Remember messages",
        "adds",
        "Keep messages as turns of a conversation, and retain what user and assistant tell in them, without questions and small "
        "talk. Use it at the end of an exchange.",
        Remember,
        in_session("/remember"),
        show_remember_report,
        speaker="user",
    ),
    Tool(
        "reflect",
        "Reflect",
        "changes",
        "Put stored memories in order: give them their places in the hierarchy, link related ones. Use it now and then, after "
        "many were saved.",
        Reflect,
        lambda given, _: Call("POST", "/reflect", given),
        show_reflect_report,
    ),
]
