"""Tools for texts and orphans: retain, reflect."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from service.mcp.text import JsonObject, Shown, about, fit_rows, how_to_settle, kept, may_outdate, more, written
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
    listed,
)

SHOWN = 20  # of what may be hundreds
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

    messages: Annotated[list[Annotated[dict[str, Any], WithJsonSchema(MESSAGE)]], BeforeValidator(listed)] = Field(
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


def retained(reply: JsonObject, room: int) -> Shown:
    """Decisions about each fact."""
    head, tail = _dry(reply), _how_to_settle(reply)
    listing = fit_rows(reply["decisions"], _retained, room - len(head + tail), "No facts in it.")
    fields = ("fact", "action", "memory_id", "superseded", "target_id", "reason", "signal", "unsettled")
    rows = [kept(row, fields) for row in reply["decisions"][: listing.shown]]
    data = {"decisions": rows, "dry_run": reply["dry_run"]} | kept(reply, ("left_out",))
    return head + listing.text + tail, data | kept(reply, ("skipped",))


def remembered(reply: JsonObject, room: int) -> Shown:
    """How many turns were kept, and what was decided about each fact, with who said it."""
    turns = f"{reply['turns']} turns of session {written(reply['session'])}.\n" if reply["session"] else ""
    head, tail = _dry(reply) + turns, _how_to_settle(reply)
    listing = fit_rows(reply["decisions"], _remembered, room - len(head + tail), "No facts in it.")
    fields = ("message", "source", "fact", "action", "memory_id", "superseded", "target_id", "reason", "signal", "unsettled")
    rows = [kept(row, fields) for row in reply["decisions"][: listing.shown]]
    data = {"decisions": rows, "turns": reply["turns"], "dry_run": reply["dry_run"]}
    return head + listing.text + tail, data | kept(reply, ("session", "entities", "left_out", "skipped"))


def _how_to_settle(reply: JsonObject) -> str:
    return "" if reply["dry_run"] else how_to_settle(row["unsettled"] for row in reply["decisions"])


def _retained(row: JsonObject, longest: int | None) -> str:
    return "\n".join([_decision(row, longest, row["reason"]), *may_outdate(row["unsettled"])])


def _remembered(row: JsonObject, longest: int | None) -> str:
    return "\n".join([_decision(row, longest, f"said by {row['source']}", row["reason"]), *may_outdate(row["unsettled"])])


def _decision(row: JsonObject, longest: int | None, *said: str | None) -> str:
    action = "left out" if row["action"] == "nothing" and row["memory_id"] is None else row["action"]
    return f"{action}{_places(row)}: {written(row['fact'], text=True, longest=longest)}{about(*said)}"


def _places(row: JsonObject) -> str:
    """Which memory it is now, and which it ended."""
    ended = f" instead of [{row['superseded']}]" if row["superseded"] else ""
    return (f" [{row['memory_id']}]" if row["memory_id"] else "") + ended


def reflected(reply: JsonObject, _: int) -> Shown:
    """Result: counts, and the first memories that were placed."""
    placed, linked, made = reply["placed"], reply["linked"], reply["created"]
    head = (
        f"{len(placed)} placed, {len(made)} parents made, {len(linked)} links made, {reply['orphans_left']} left without a place."
    )
    rows = [f"[{row['memory_id']}] stands under {written(row['parent'])}{about(row['reason'])}" for row in placed[:SHOWN]]
    rest = [f"… and {len(placed) - SHOWN} more."] if len(placed) > SHOWN else []
    data = {
        "placed": [kept(row, ("memory_id", "parent_id", "parent", "reason")) for row in placed],
        "created": [kept(row, ("id", "lineage", "content", "parent")) for row in made],
        "linked": linked,
        "orphans_left": reply["orphans_left"],
        "dry_run": reply["dry_run"],
    }
    return _dry(reply) + "\n".join([head, *rows, *rest]) + more(reply), data | kept(reply, ("next_cursor",))


def _dry(reply: JsonObject) -> str:
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
        retained,
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
        remembered,
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
        reflected,
    ),
]
