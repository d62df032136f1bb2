"""What tools do with the graph: walk it, and change how fast it fades."""

from uuid import UUID

from pydantic import Field, model_validator

from service.mcp.text import JsonObject, Shown, edge_line, fit_rows, kept, times, written
from service.mcp.tool import Arguments, Call, MaxChars, Name, Names, Time, Tool, of_session, segment

EDGE = ("id", "source", "type", "target", "literal", "confidence", "valid_from", "valid_to")


class Traverse(Arguments):
    """Where to start walking the graph, and how far."""

    startEntity: Name = Field(description="Name, alias or id")  # noqa: N815 (models know the tools by these names, here and below)
    edgeTypes: Names | None = Field(None, description="Such as works_on, uses; default: all")  # noqa: N815
    maxHops: int | None = Field(None, description="Default 2")  # noqa: N815
    limit: int | None = Field(None, description="Edges at most; default 20")
    max_chars: MaxChars | None = None


class Relate(Arguments):
    """A relation between two things, or of one to a value."""

    source: Name = Field(description="Name of whom or what it starts at, such as Alex")
    type: Name = Field(description="Such as works_on, lives_in, member_of")
    target: Name | None = Field(None, description="Name of whom or what it leads to")
    literal: Name | None = Field(None, description="In place of target, a value such as 1990")
    memory_id: UUID | None = Field(None, description="The memory that says so: the relation ends with it")
    valid_from: Time | None = Field(None, description="Since when, if not since now")
    valid_to: Time | None = Field(None, description="Until when, if it is over")
    confidence: float | None = Field(None, description="How sure it is, 0 to 1")


class Unrelate(Arguments):
    """One relation, and when it ended."""

    id: UUID = Field(description="As in [id] of a relation")
    ended: Time | None = Field(None, description="It was true until then. Left out: it was wrong")


class Decay(Arguments):
    """Which edges, and their new rate."""

    @model_validator(mode="after")
    def _of_a_type(self) -> "Decay":
        if self.decayRate is not None and self.edgeType is None:
            raise ValueError("decayRate needs edgeType beside it: the type of edges that it is for")
        return self

    edgeType: Name | None = Field(None, description="Default: all types")  # noqa: N815
    decayRate: float | None = Field(  # noqa: N815
        None, description="New rate per day for edgeType (0.01: half after 70 days). Without it: recalculate only"
    )


def _traverse(given: JsonObject, _: str | None) -> Call:
    body = {"start": [given["startEntity"]], "limit": given.get("limit", 20)}
    names = {"edgeTypes": "edge_types", "maxHops": "max_hops"}
    return Call("POST", "/graph/traverse", body | {names[name]: given[name] for name in names.keys() & given.keys()})


def _unrelate(given: JsonObject, _: str | None) -> Call:
    path = f"/edges/{given['id']}"
    return Call("PATCH", path, {"valid_to": given["ended"]}) if "ended" in given else Call("DELETE", path)


def _decay(given: JsonObject, _: str | None) -> Call:
    if "decayRate" in given:
        return Call("PUT", f"/edge-types/{segment(given['edgeType'])}", {"decay_rate": given["decayRate"]})
    return Call("POST", "/edges/decay", {"type": given["edgeType"]} if given else {})


def edges(reply: JsonObject, room: int) -> Shown:
    """Edges of a walk, in the order of discovery."""
    more = f"\n… and more: ended by {written(', then '.join(reply['reason']))}." if reply["truncated"] else ""
    none = "No edges: the entity is known, and nothing that still holds leads on from it."
    listing = fit_rows(reply["edges"], edge_line, room - len(more), none, by="fewer maxHops")
    fields = ("id", "source", "type", "target", "literal", "confidence", "hop")
    rows = [kept(row, fields) for row in reply["edges"][: listing.shown]]
    return listing.text + more, {"edges": rows, "truncated": reply["truncated"]} | kept(reply, ("reason",))


def related(reply: JsonObject, _: int) -> Shown:
    """What became of a relation that was stated."""
    known = "" if reply["created"] else "Known already, and seen again. "
    ended = "".join(f"\nEnded by it: [{edge['id']}] {written(edge['target'] or edge['literal'])}" for edge in reply["superseded"])
    return f"{known}{edge_line(reply)}, {times(reply)}.{ended}", kept(reply, (*EDGE, "superseded"))


def unrelated(reply: JsonObject, _: int) -> Shown:
    """A relation that is over, or was wrong."""
    if reply["superseded_at"] is not None:
        return f"Was wrong, and is no longer shown: {edge_line(reply)}.", kept(reply, EDGE)
    return f"{edge_line(reply)}, {times(reply)}.", kept(reply, EDGE)


def decayed(reply: JsonObject, _: int) -> Shown:
    """What a change of decay did."""
    rate = reply.get("decay_rate")
    said = "" if rate is None else f"The rate of {written(reply['type'])} is now {rate:g} per day. "
    if "faded_now" not in reply:
        return f"{said}{reply['faded']} edges faded by it, {reply['revived']} came back.", kept(reply)
    now = f"{reply['faded']} edges faded since the last recalculation; {reply['faded_now']} of {reply['edges']} are faded now."
    return now, kept(reply)


TOOLS = [
    Tool(
        "graph_traverse",
        "Walk the graph",
        "reads",
        "Follow relations from an entity over several hops, such as Alex works_on ProjectX uses PostgreSQL. Use it for how "
        "people, projects and things are connected; for statements about them, use recall with entity.",
        Traverse,
        _traverse,
        edges,
        {"start[0]": "startEntity", "start": "startEntity", "edge_types": "edgeTypes", "max_hops": "maxHops"},
        "Call recall: it names entities near the question.",
    ),
    Tool(
        "relate",
        "State a relation",
        "adds",
        "State how two things are connected, such as Alex works_on ProjectX; names that are new become entities. Use it beside "
        "save_memory, whose id is the evidence.",
        Relate,
        lambda given, session: Call("POST", "/edges", {**given, **of_session(session)}),
        related,
    ),
    Tool(
        "unrelate",
        "End a relation",
        "changes",
        "Say until when a relation was true, or that it was wrong, by its id from relate or graph_traverse.",
        Unrelate,
        _unrelate,
        unrelated,
        {"valid_to": "ended"},
        "Call graph_traverse for the ids that there are.",
    ),
    Tool(
        "relation_decay",
        "Decay of relations",
        "changes",
        "Change how fast relations of a type lose confidence, or recalculate which have faded. Use it when relations of a type go"
        " stale too soon or stay too long; reading never needs it.",
        Decay,
        _decay,
        decayed,
        {"decay_rate": "decayRate", "type": "edgeType"},
    ),
]
