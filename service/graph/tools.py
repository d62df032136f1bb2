"""Tools for the graph: walk it, and change how fast it fades."""

from uuid import UUID

from pydantic import Field, model_validator

from service.mcp.text import (
    MEMORY,
    JsonObject,
    Line,
    Shown,
    about,
    edge_line,
    event_line,
    fit_rows,
    kept,
    memory_line,
    shortened,
    times,
    written,
)
from service.mcp.tool import Arguments, Call, MaxChars, Name, Names, Time, Tool, of_session, segment
from service.text.passages import LEAST

ENTITY = ("id", "name", "type", "aliases", "description", "pinned")
FACT = ("id", "aspect", "content", "valid_from", "valid_to")
EDGE = ("id", "source", "type", "target", "literal", "confidence", "valid_from", "valid_to")


class Traverse(Arguments):
    """Where to start walking the graph, and how far."""

    startEntity: Name = Field(description="Name, alias or id")  # noqa: N815 (models know the tools by these names, here and below)
    edgeTypes: Names | None = Field(None, description="Default: all")  # noqa: N815
    maxHops: int | None = Field(None, description="Default 2")  # noqa: N815
    limit: int | None = Field(None, description="Default 20")
    max_chars: MaxChars | None = None


class Describe(Arguments):
    """The entity to describe, and the moments."""

    entity: Name = Field(description="Name, alias or id")
    as_of: Time | None = Field(None, description="What was true then")
    known_at: Time | None = Field(None, description="What was believed then")
    max_chars: MaxChars | None = None


class Relate(Arguments):
    """A relation between two things, or of one to a value."""

    source: Name = Field(description="Name, such as Alex")
    type: Name = Field(description="Such as works_on")
    target: Name | None = Field(None, description="Name, such as ProjectX")
    literal: Name | None = Field(None, description="A value in place of target")
    memory_id: UUID | None = Field(None, description="Memory that says so")
    valid_from: Time | None = Field(None, description="Default now")
    valid_to: Time | None = Field(None, description="Until when")
    confidence: float | None = Field(None, description="0 to 1")


class Unrelate(Arguments):
    """One relation, and when it ended."""

    id: UUID = Field(description="As in [id] of a relation")
    ended: Time | None = Field(None, description="True until then; left out: it was wrong")


class Decay(Arguments):
    """Which edges, and their new rate."""

    @model_validator(mode="after")
    def _of_a_type(self) -> "Decay":
        if self.decayRate is not None and self.edgeType is None:
            raise ValueError("decayRate needs edgeType beside it: the type of edges that it is for")
        return self

    edgeType: Name | None = Field(None, description="Default: all types")  # noqa: N815
    decayRate: float | None = Field(  # noqa: N815
        None, description="Per day, for edgeType (0.01: half after 70 days). Without it: recalculate"
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


def described(reply: JsonObject, room: int) -> Shown:
    """Knowledge about an entity: each part has what those before it leave, and at least a fifth."""
    entity = reply["entity"]
    names = f", also {written(', '.join(entity['aliases']))}" if entity["aliases"] else ""
    what = written(entity["description"] or "", text=True, longest=LEAST)
    text = f"[{entity['id']}] {written(entity['name'])}{about(entity['type'])}{names}{what and ': ' + what}"
    data: JsonObject = {"entity": kept(entity, ENTITY)}
    parts = _parts(reply)
    for nth, (name, header, rows, line, fields) in enumerate(parts):
        left = (room - len(text)) // (len(parts) - nth) - len(header) - 2
        listing = fit_rows(rows, line, max(left, LEAST))
        if rows:
            text += f"\n{header}\n{listing.text}"
        data[name] = [shortened(kept(row, fields), listing.longest) for row in rows[: listing.shown]]
    return text, kept(data)


def _parts(reply: JsonObject) -> list[tuple[str, str, list[JsonObject], Line, tuple[str, ...] | None]]:
    """Name, header, rows, line and fields of each part: rules first, because they hold whatever is asked."""
    facts = [{**row, "aspect": aspect["name"]} for aspect in reply["aspects"] for row in aspect["attributes"]]
    rules = [{**row, "aspect": aspect["name"]} for aspect in reply["aspects"] for row in aspect["constraints"]]
    return [
        ("rules", "Rules that hold:", rules, _fact_line, FACT),
        ("facts", "Facts:", facts, _fact_line, FACT),
        ("relations", "Relations:", reply["edges"], _edge_since, EDGE),
        ("memories", "Memories, newest first:", reply["memories"], memory_line, MEMORY),
        ("timeline", "What happened last:", reply["timeline"], event_line, None),
    ]


def _fact_line(row: JsonObject, longest: int | None) -> str:
    return f"- {written(row['aspect'])}: {written(row['content'], text=True, longest=longest)} ({times(row)})"


def _edge_since(row: JsonObject, _: int | None) -> str:
    return f"{edge_line(row)}, {times(row)}"


def related(reply: JsonObject, _: int) -> Shown:
    """Outcome for a relation that was stated."""
    known = "" if reply["created"] else "Known already, and seen again. "
    ended = "".join(f"\nEnded by it: [{edge['id']}] {written(edge['target'] or edge['literal'])}" for edge in reply["superseded"])
    return f"{known}{edge_line(reply)}, {times(reply)}.{ended}", kept(reply, (*EDGE, "superseded"))


def unrelated(reply: JsonObject, _: int) -> Shown:
    """A relation that is over, or was wrong."""
    if reply["superseded_at"] is not None:
        return f"Was wrong, and is no longer shown: {edge_line(reply)}.", kept(reply, EDGE)
    return f"{edge_line(reply)}, {times(reply)}.", kept(reply, EDGE)


def decayed(reply: JsonObject, _: int) -> Shown:
    """Outcome of a change of decay."""
    rate = reply.get("decay_rate")
    said = "" if rate is None else f"The rate of {written(reply['type'])} is now {rate:g} per day. "
    if "faded_now" not in reply:
        return f"{said}{reply['faded']} edges faded by it, {reply['revived']} came back.", kept(reply)
    now = f"{reply['faded']} edges faded since the last recalculation; {reply['faded_now']} of {reply['edges']} are faded now."
    return now, kept(reply)


TOOLS = [
    Tool(
        "describe",
        "Describe an entity",
        "reads",
        "All that is known of one person, project or thing, also at a past time: rules, facts, relations, memories, what "
        "happened last. For a question use recall.",
        Describe,
        lambda given, _: Call("GET", f"/entities/{segment(given.pop('entity'))}/overview", params=given),
        described,
        {"ref": "entity"},
        "Call recall: it names entities near the question.",
    ),
    Tool(
        "graph_traverse",
        "Walk the graph",
        "reads",
        "Follow relations from an entity over several hops: how people, projects and things are connected. For all about one of "
        "them use describe.",
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
        "State how two things are connected, such as Alex works_on ProjectX. Use it beside save_memory, whose id is the evidence.",
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
        "Change how fast relations of a type lose confidence, where they go stale too soon or too late; or recalculate which "
        "have faded.",
        Decay,
        _decay,
        decayed,
        {"decay_rate": "decayRate", "type": "edgeType"},
    ),
]
