"""`loci entity`, `loci edge`, `loci edge-type` and `loci traverse`: the graph."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.framework import (
    App,
    AsOf,
    KnownAt,
    Limit,
    Namespace,
    Session,
    Yes,
    confirm_or_exit,
    message_printer,
    settings_of,
    tell_result,
    tell_rows,
)
from service.cli.output import echo, print_fields, print_rows
from service.cli.rest import Rest, open_service

entities = App("Add, list, show and remove entities.")
edges = App("Observe, list, show and take back edges between entities.")
edge_types = App("List types of edges, and set how fast they fade.")


class Faded(StrEnum):
    """Which edges a list shows."""

    WITHOUT = "without"
    WITH = "with"
    ONLY = "only"


Ref = Annotated[str, typer.Argument(metavar="ENTITY", help="Name, alias or id.")]
EdgeId = Annotated[UUID, typer.Argument(metavar="ID", help="The edge, as `loci edge list` shows it.")]


@entities.command("add")
def add_entity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    type: Annotated[str | None, typer.Option(help="Such as person.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another name; repeatable.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is, in words.")] = None,
    namespace: Namespace = None,
) -> None:
    """Create an entity, or add to the one of this name."""
    with open_service(namespace) as rest:
        row = rest.post("/entities", name=name, type=type, aliases=alias or None, description=description)
    tell_result(row, lambda: print_fields(row))


@entities.command("list")
def list_entities(
    namespace: Namespace = None,
    limit: Limit = 50,
    type: Annotated[str | None, typer.Option(help="Of this type.")] = None,
    query: Annotated[str | None, typer.Option(help="How the name begins.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only pinned ones.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """List entities: pinned first, then the most mentioned."""
    asked = {"type": type, "query": query, "pinned": pinned or None, "as_of": as_of, "known_at": known_at}
    with open_service(namespace) as rest:
        rows = rest.list_items("/entities", limit=limit, **asked)
    tell_rows(rows, "id", "name", "type", "description", fold="description")


@entities.command("show")
def show_entity(ref: Ref, namespace: Namespace = None, as_of: AsOf = None, known_at: KnownAt = None) -> None:
    """Show an entity with all its fields."""
    with open_service(namespace) as rest:
        row = rest.get("/entities/{ref}", {"ref": ref}, as_of=as_of, known_at=known_at)
    tell_result(row, lambda: print_fields(row))


@entities.command("remove")
def remove_entity(ref: Ref, namespace: Namespace = None, yes: Yes = False) -> None:
    """Remove an entity from the graph, with its edges."""
    confirm_or_exit(f"Remove {ref} with its edges?", yes=yes)
    with open_service(namespace) as rest:
        row = rest.delete("/entities/{ref}", {"ref": ref})
    tell_result(row, message_printer(f"removed {row['name']}"))


@edges.command("add")
def add_edge(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Where it begins: name, alias or id.")],
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Such as works_on.")],
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Where it leads to.")] = None,
    literal: Annotated[str | None, typer.Option(help="A value that it leads to instead.")] = None,
    confidence: Annotated[float | None, typer.Option(min=0, max=1, help="How sure it is.")] = None,
    session_id: Session = None,
    namespace: Namespace = None,
) -> None:
    """Observe an edge; names that are new become entities."""
    stated = {"target": target, "literal": literal, "confidence": confidence, "session_id": session_id}
    with open_service(namespace) as rest:
        row = rest.post("/edges", source=source, type=type, **stated)
    tell_result(row, lambda: echo(edge_line(row)))


@edges.command("list")
def list_edges(
    namespace: Namespace = None,
    limit: Limit = 50,
    entity: Annotated[str | None, typer.Option(help="Of this entity: name, alias or id.")] = None,
    type: Annotated[str | None, typer.Option(help="Of this type.")] = None,
    faded: Annotated[Faded, typer.Option(help="Without faded ones, with them, or only them.")] = Faded.WITHOUT,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """List edges with their confidence as it is now."""
    asked = {"entity": entity, "type": type, "faded": faded.value, "as_of": as_of, "known_at": known_at}
    with open_service(namespace) as rest:
        rows = rest.list_items("/edges", limit=limit, **asked)
    shown = [{**row, "target": row["target"] if row["literal"] is None else f'"{row["literal"]}"'} for row in rows]
    tell_result(rows, lambda: tell_rows(shown, "id", "source", "type", "target", "confidence", "last_observed_at", fold="target"))


@edges.command("show")
def show_edge(id: EdgeId, namespace: Namespace = None, as_of: AsOf = None, known_at: KnownAt = None) -> None:
    """Show an edge, and what was observed of it."""
    with open_service(namespace) as rest:
        row = rest.get("/edges/{id}", {"id": id}, as_of=as_of, known_at=known_at)
    tell_result(row, lambda: print_fields(row))


@edges.command("change")
def change_edge(
    id: EdgeId,
    namespace: Namespace = None,
    confidence: Annotated[float | None, typer.Option(min=0, max=1, help="How sure it is; decays from now on.")] = None,
    strength: Annotated[float | None, typer.Option(min=0, max=1, help="How strong the relation is.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="From when it is true.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it is true; empty: still.")] = None,
) -> None:
    """Correct an edge: how sure it is, how strong, and when it is true. `loci operation undo` takes it back."""
    stated = {"confidence": confidence, "strength": strength, "valid_from": valid_from, "valid_to": valid_to}
    changes = {name: value or (None if name == "valid_to" else value) for name, value in stated.items() if value is not None}
    with open_service(namespace) as rest:
        row = rest.patch("/edges/{id}", {"id": id}, **changes)
    tell_result(row, lambda: echo(edge_line(row)))


@edges.command("remove")
def remove_edge(id: EdgeId, namespace: Namespace = None) -> None:
    """Take an edge back: it stays as history."""
    with open_service(namespace) as rest:
        row = rest.delete("/edges/{id}", {"id": id})
    tell_result(row, message_printer(f"taken back: {edge_line(row)}"))


@edges.command()
def decay(
    type: Annotated[str | None, typer.Argument(metavar="TYPE", help="Edge type; default: all of them.")] = None,
    namespace: Namespace = None,
    rate: Annotated[
        float | None, typer.Option(help="New rate per day, of the type or else of the namespace.", min=0, max=1e9)
    ] = None,
) -> None:
    """Recalculate when edges fade, or change how fast.

    Says how many faded and how many came back; without a rate, since the last time. Readers go by a new rate at once. Killed on
    the way, it loses nothing: call it again, or leave the rest to the worker.
    """
    with open_service(namespace) as rest:
        counts = _start_decay_change(rest, type, rate)
    tell_result(counts, lambda: print_rows(tuple(counts), [counts]))


def _start_decay_change(rest: Rest, type: str | None, rate: float | None) -> dict[str, int]:
    if rate is None:
        row = rest.post("/edges/decay", type=type)
    elif type is not None:
        row = rest.put("/edge-types/{type}", {"type": type}, decay_rate=rate)
    else:
        row = rest.patch("/namespaces/{name}", {"name": rest.find_namespace_name()}, settings={"decay_rate": rate})
    return {name: row[name] or 0 for name in ("faded", "revived", "faded_now") if name in row}


@edge_types.command("list")
def list_types(namespace: Namespace = None, limit: Limit = 1000) -> None:
    """List types of edges, with their rates and counts."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/edge-types", limit=limit)
    tell_rows(rows, "type", "decay_rate", "single_valued", "edges", "faded", "description", fold="description")


@edge_types.command("set")
def set_type(
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Such as works_on.")],
    assignments: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="decay_rate, single_valued, description; empty: the default.")
    ],
    namespace: Namespace = None,
) -> None:
    """Set how edges of a type fade, and what they mean."""
    with open_service(namespace) as rest:
        row = rest.put("/edge-types/{type}", {"type": type}, **settings_of(assignments))
    tell_result(row, lambda: print_fields(row))


def traverse(
    start: Annotated[list[str] | None, typer.Argument(metavar="START", help="Names, aliases or ids of entities.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Start from the entities that this text names, too.")] = None,
    edge_type: Annotated[
        list[str] | None, typer.Option("--edge-type", "--type", "-t", help="Follow only this type; repeatable.")
    ] = None,
    hops: Annotated[int | None, typer.Option("--hops", min=0, max=20, help="How far; default: the namespace's setting.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many edges at most.")] = 100,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="0 shows faded edges too.")] = None,
    paths: Annotated[bool, typer.Option("--paths", help="The way to each edge, and the product of confidences on it.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    namespace: Namespace = None,
) -> None:
    """Walk the graph from entities, breadth first."""
    stated = {
        "start": start,
        "text": text,
        "edge_types": edge_type or None,
        "max_hops": hops,
        "limit": limit,
        "min_confidence": min_confidence,
        "paths": paths,
        "scores": paths,
        "as_of": as_of,
        "known_at": known_at,
    }
    with open_service(namespace) as rest:
        found = rest.post("/graph/traverse", **stated)
    tell_result({name: found[name] for name in ("edges", "truncated", "reason")}, lambda: _tell_walk(found, paths=paths))


def _tell_walk(found: dict[str, Any], *, paths: bool) -> None:
    for row in found["edges"]:
        echo(edge_line(row) + (f"  score={row['score']:.2f}: {' '.join(row['path'])}" if paths else ""))
    if not found["edges"]:
        echo("no edges", err=True)
    if found["truncated"]:
        echo(f"there is more: ended by {', then '.join(found['reason'])}", err=True)


def edge_line(row: dict[str, Any]) -> str:
    """An edge as people read it: `Alice --works_on--> RockBot (confidence=0.90)`."""
    target = row["target"] if row["literal"] is None else f'"{row["literal"]}"'
    return f"{row['source']} --{row['type']}--> {target} (confidence={row['confidence']:.2f})"
