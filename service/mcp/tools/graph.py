"""Tools for the graph: walk it, and change how fast it fades."""

from uuid import UUID

from pydantic import Field, model_validator

from service.mcp.result_texts import (
    MEMORY,
    JsonObject,
    Line,
    Shown,
    edge_line,
    event_line,
    fit_rows,
    format_brackets,
    format_period,
    format_value,
    keep_telling_fields,
    memory_line,
    shorten_result,
)
from service.mcp.tool import Arguments, Call, MaxChars, Name, Names, Time, Tool, of_session, quote_path_segment
from service.text.passages import LEAST_PASSAGE_CHARACTERS

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


def _call_traverse(given: JsonObject, _: str | None) -> Call:
    body = {"start": [given["startEntity"]], "limit": given.get("limit", 20)}
    names = {"edgeTypes": "edge_types", "maxHops": "max_hops"}
    return Call("POST", "/graph/traverse", body | {names[name]: given[name] for name in names.keys() & given.keys()})


def _call_unrelate(given: JsonObject, _: str | None) -> Call:
    path = f"/edges/{given['id']}"
    return Call("PATCH", path, {"valid_to": given["ended"]}) if "ended" in given else Call("DELETE", path)


def _call_decay(given: JsonObject, _: str | None) -> Call:
    if "decayRate" in given:
        return Call("PUT", f"/edge-types/{quote_path_segment(given['edgeType'])}", {"decay_rate": given["decayRate"]})
    return Call("POST", "/edges/decay", {"type": given["edgeType"]} if given else {})


def show_edges(reply: JsonObject, room: int) -> Shown:
    """Edges of a walk, in the order of discovery."""
    more = f"\n… and more: ended by {format_value(', then '.join(reply['reason']))}." if reply["truncated"] else ""
    none = "No edges: the entity is known, and nothing that still holds leads on from it."
    listing = fit_rows(reply["edges"], edge_line, room - len(more), none, by="fewer maxHops")
    fields = ("id", "source", "type", "target", "literal", "confidence", "hop")
    rows = [keep_telling_fields(row, fields) for row in reply["edges"][: listing.shown]]
    return listing.text + more, {"edges": rows, "truncated": reply["truncated"]} | keep_telling_fields(reply, ("reason",))


def show_description(reply: JsonObject, room: int) -> Shown:
    """Knowledge about an entity: each part has what those before it leave, and at least a fifth."""
    entity = reply["entity"]
    names = f", also {format_value(', '.join(entity['aliases']))}" if entity["aliases"] else ""
    what = format_value(entity["description"] or "", text=True, longest=LEAST_PASSAGE_CHARACTERS)
    text = f"[{entity['id']}] {format_value(entity['name'])}{format_brackets(entity['type'])}{names}{what and ': ' + what}"
    data: JsonObject = {"entity": keep_telling_fields(entity, ENTITY)}
    parts = _description_parts(reply)
    for nth, (name, header, rows, line, fields) in enumerate(parts):
        left = (room - len(text)) // (len(parts) - nth) - len(header) - 2
        listing = fit_rows(rows, line, max(left, LEAST_PASSAGE_CHARACTERS))
        if rows:
            text += f"\n{header}\n{listing.text}"
        data[name] = [shorten_result(keep_telling_fields(row, fields), listing.longest) for row in rows[: listing.shown]]
    return text, keep_telling_fields(data)


def _description_parts(reply: JsonObject) -> list[tuple[str, str, list[JsonObject], Line, tuple[str, ...] | None]]:
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
    return f"- {format_value(row['aspect'])}: {format_value(row['content'], text=True, longest=longest)} ({format_period(row)})"


def _edge_since(row: JsonObject, _: int | None) -> str:
    return f"{edge_line(row)}, {format_period(row)}"


def show_relation(reply: JsonObject, _: int) -> Shown:
    """Outcome for a relation that was stated."""
    known = "" if reply["created"] else "Known already, and seen again. "
    ended = "".join(
        f"\nEnded by it: [{edge['id']}] {format_value(edge['target'] or edge['literal'])}" for edge in reply["superseded"]
    )
    return f"{known}{edge_line(reply)}, {format_period(reply)}.{ended}", keep_telling_fields(reply, (*EDGE, "superseded"))


def show_relation_end(reply: JsonObject, _: int) -> Shown:
    """A relation that is over, or was wrong."""
    if reply["superseded_at"] is not None:
        return f"Was wrong, and is no longer shown: {edge_line(reply)}.", keep_telling_fields(reply, EDGE)
    return f"{edge_line(reply)}, {format_period(reply)}.", keep_telling_fields(reply, EDGE)


def show_decay(reply: JsonObject, _: int) -> Shown:
    """Outcome of a change of decay."""
    rate = reply.get("decay_rate")
    said = "" if rate is None else f"The rate of {format_value(reply['type'])} is now {rate:g} per day. "
    if "faded_now" not in reply:
        return f"{said}{reply['faded']} edges faded by it, {reply['revived']} came back.", keep_telling_fields(reply)
    now = f"{reply['faded']} edges faded since the last recalculation; {reply['faded_now']} of {reply['edges']} are faded now."
    return now, keep_telling_fields(reply)


TOOLS = [
    Tool(
        "describe",
        "Describe an entity",
        "reads",
        "All that is known of one person, project or thing, also at a past time: rules, facts, relations, memories, what "
        "happened last. For a question use recall.",
        Describe,
        lambda given, _: Call("GET", f"/entities/{quote_path_segment(given.pop('entity'))}/overview", params=given),
        show_description,
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
        _call_traverse,
        show_edges,
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
        show_relation,
    ),
    Tool(
        "unrelate",
        "End a relation",
        "changes",
        "Say until when a relation was true, or that it was wrong, by its id from relate or graph_traverse.",
        Unrelate,
        _call_unrelate,
        show_relation_end,
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
        _call_decay,
        show_decay,
        {"decay_rate": "decayRate", "type": "edgeType"},
    ),
]
