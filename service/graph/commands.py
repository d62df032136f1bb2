"""`loci traverse`, `loci edge-types` and `loci decay`: walks over the graph, its types, and how fast its edges fade."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import console, echo, print_json, print_rows
from service.cli.session import Session, run, run_in
from service.cli.shell import AsOf, Json, KnownAt, Namespace, wants_json

if TYPE_CHECKING:
    from db.graph.decay import DecayBatch
    from db.graph.edges import ListedEdgeType
    from db.pool import Transaction


def decay(
    context: typer.Context,
    type: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Edge type; default: all of them.")] = None,
    namespace: Namespace = "default",
    rate: Annotated[
        float | None, typer.Option(help="New rate per day, of the type or else of the namespace.", min=0, max=1e9)
    ] = None,
    as_json: Json = False,
) -> None:
    """Recalculate when edges fade, or change how fast; says how many faded and how many came back.

    Readers go by a new rate at once. Killed on the way, it loses nothing: call it again, or leave the rest to the worker.
    """
    with _progress() as told:
        row = run(lambda session: _decay(session, namespace, type, rate, told))
    counts = {"edges": row["edges"], "faded": row["faded"], "revived": row["revived"]}
    if wants_json(context, as_json):
        print_json(counts)
    else:
        print_rows(list(counts), [counts])


async def _decay(
    session: Session, namespace: str, type: str | None, rate: float | None, told: "Callable[[DecayBatch], None]"
) -> "DecayBatch":
    from service.graph.decay import begin_decay_change, finish_decay_change
    from service.graph.edges import set_edge_type
    from service.namespaces.namespaces import change_namespace

    decaying = True
    async with session.transaction(namespace, "writer" if type or rate is None else "admin") as tx:
        if rate is not None and type is not None:
            decaying = (await set_edge_type(tx, type=type, changes={"decay_rate": rate}))["decaying"]
        elif rate is not None:
            decaying = await change_namespace(tx, changes={"settings": {"decay_rate": rate}})
        else:
            await begin_decay_change(tx, type=type)
    if not decaying:
        return {"edges": 0, "faded": 0, "revived": 0, "done": True}
    return await finish_decay_change(lambda: session.transaction(namespace, "writer"), type=type, told=told)


@contextmanager
def _progress() -> "Iterator[Callable[[DecayBatch], None]]":
    """Counts on stderr while it lasts; nothing into a pipe."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(err=True), transient=True, disable=not console(err=True).is_terminal) as bar:
        task = bar.add_task("waiting for writers")
        yield lambda row: bar.update(
            task, description=f"{row['edges']:,} edges, {row['faded']:,} faded, {row['revived']:,} came back"
        )


def edge_types(context: typer.Context, namespace: Namespace = "default", as_json: Json = False) -> None:
    """List types of edges with their rates of decay and how many edges they have."""
    rows = run_in(namespace, _edge_types)
    if wants_json(context, as_json):
        print_json(rows)
    else:
        print_rows(["type", "decay_rate", "single_valued", "edges", "faded", "description"], rows)


async def _edge_types(tx: "Transaction") -> "list[ListedEdgeType]":
    from service.graph.edges import list_edge_types

    rows: list[ListedEdgeType] = []
    cursor = None
    while True:
        page = await list_edge_types(tx, limit=1000, cursor=cursor)
        rows += page["items"]
        if (cursor := page["next_cursor"]) is None:
            return rows


def traverse(
    context: typer.Context,
    start: Annotated[list[str] | None, typer.Argument(metavar="[START]...", help="Names, aliases or ids of entities.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Start from the entities that this text names, too.")] = None,
    edge_type: Annotated[list[str] | None, typer.Option("--edge-type", "-t", help="Follow only this type; repeatable.")] = None,
    hops: Annotated[int | None, typer.Option("--hops", min=0, max=20, help="How far; default: the namespace's setting.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many edges at most.")] = 100,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="0 shows faded edges too.")] = None,
    paths: Annotated[bool, typer.Option("--paths", help="The way to each edge, and the product of confidences on it.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    namespace: Namespace = "default",
    as_json: Json = False,
) -> None:
    """Walk the graph from entities, breadth first."""
    from loci.models.graph import TraverseInput
    from service.graph.traversal import traverse as walk

    stated = {
        "start": start,
        "text": text,
        "edge_types": edge_type,
        "max_hops": hops,
        "limit": limit,
        "min_confidence": min_confidence,
        "paths": paths,
        "scores": paths,
        "as_of": as_of,
        "known_at": known_at,
    }
    wanted = TraverseInput.model_validate({name: value for name, value in stated.items() if value is not None})
    found = run_in(namespace, lambda tx: walk(tx, wanted))
    if wants_json(context, as_json):
        print_json({name: found[name] for name in ("edges", "truncated", "reason")})
        return
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
