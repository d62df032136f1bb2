"""`loci recall`, `context`, `traverse` and `history`: questions to memory and graph."""

from datetime import datetime
from typing import Annotated, Any

import typer

from service.cli.output import print_json, print_table, show
from service.cli.session import Session, run
from service.cli.shell import AsOf, Failure, Json, KnownAt, Namespace, wants_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(recall)
    app.command("context")(show_context)
    app.command()(traverse)
    app.command()(history)


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The question.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=100, help="How many results.")] = 10,
    namespace: Namespace = "default",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each arm of the search contributed.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """Find the memories that answer a question."""
    from loci.models.recall import RecallInput
    from service.recall import Question, make_scope

    body = RecallInput.model_validate({"query": query, "k": k, "as_of": as_of, "known_at": known_at})
    question = Question(query=body.query, k=body.k, scope=make_scope({}, body.as_of, body.known_at), explain=explain)
    answer = run(lambda session: _ask(session, question, namespace))
    if wants_json(context, as_json):
        print_json(answer)
        return
    for arm, reason in answer["skipped"].items():
        typer.echo(f"without the {arm} arm: {reason}", err=True)
    if not answer["results"]:
        typer.echo("nothing found", err=True)
        return
    _print_results(answer["results"], explain=explain)


async def _ask(session: Session, question: Any, namespace: str) -> dict[str, Any]:
    from service import recall as searching
    from service.embedding.following import make_following

    provider = make_following(session.settings.embedding)
    try:
        async with session.transaction(namespace) as tx:
            pending = await searching.recall(tx, question, provider, session.settings.embedding)
            answer = await pending.answer()
    finally:
        if provider is not None:
            await provider.close()
    return {
        "results": answer.results,
        "entities": answer.entities,
        "skipped": answer.skipped,
        "took_ms": answer.took_ms,
    }


def _print_results(rows: list[dict[str, Any]], *, explain: bool) -> None:
    columns = ["score", "memory", "category", "valid_from", *(["arms (rank)"] if explain else [])]
    cells = [
        [
            row["score"],
            row["content"],
            row["category"],
            row["valid_from"],
            *([_arms(row["explain"])] if explain else []),
        ]
        for row in rows
    ]
    print_table(columns, cells, fold="memory")


def _arms(explanation: dict[str, Any]) -> str:
    return ", ".join(f"{name} {hit['rank']}" for name, hit in explanation["arms"].items()) or "neighbour"


def show_context(
    context: typer.Context,
    message: Annotated[str | None, typer.Argument(help="What is about to be answered; without it nothing is searched for.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", "-s", help="The conversation: it is shown a memory once.")] = None,
    space: Annotated[str | None, typer.Option("--space", help="Own space of working memory, such as patrol/heartbeat.")] = None,
    max_chars: Annotated[int | None, typer.Option("--max-chars", min=0, help="The text is never longer.")] = None,
    namespace: Namespace = "default",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """Build what an agent injects before an inference. With --session, what it shows counts as shown."""
    from loci.models.sessions import ContextInput
    from service.context import Occasion
    from service.recall import make_scope

    stated = {
        "message": message,
        "session_id": session_id,
        "space": space,
        "max_chars": max_chars,
        "as_of": as_of,
        "known_at": known_at,
    }
    body = ContextInput.model_validate(stated)
    occasion = Occasion(
        body.message, body.session_id, body.space, max_chars=body.max_chars, scope=make_scope({}, body.as_of, body.known_at)
    )
    built = run(lambda session: _build(session, occasion, namespace))
    if wants_json(context, as_json):
        print_json(built)
        return
    for arm, reason in built["skipped"].items():
        typer.echo(f"without the {arm} arm: {reason}", err=True)
    if built["text"]:
        typer.echo(built["text"])


async def _build(session: Session, occasion: Any, namespace: str) -> dict[str, Any]:
    from service import context as building
    from service.embedding.following import make_following

    provider = make_following(session.settings.embedding)
    try:
        async with session.transaction(namespace) as tx:
            return await building.build(tx, occasion, provider, session.settings.embedding)
    finally:
        if provider is not None:
            await provider.close()


def traverse(
    context: typer.Context,
    start: Annotated[list[str] | None, typer.Argument(metavar="[START]...", help="Names, aliases or ids of entities.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Start from the entities that this text names, too.")] = None,
    edge_type: Annotated[list[str] | None, typer.Option("--edge-type", "-t", help="Follow only this type; repeatable.")] = None,
    hops: Annotated[int | None, typer.Option("--hops", min=1, max=20, help="How far; default: the namespace's setting.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many edges at most.")] = 100,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="0 shows faded edges too.")] = None,
    paths: Annotated[bool, typer.Option("--paths", help="The way to each edge, and the product of confidences on it.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    namespace: Namespace = "default",
    as_json: Json = False,
) -> None:
    """Walk the graph from entities, breadth first."""
    from db import graph

    async def work(session: Session) -> list[dict[str, Any]]:
        async with session.transaction(namespace) as tx:
            return await graph.traverse(
                tx,
                start=start,
                text=text,
                paths=paths,
                scores=paths,
                edge_types=edge_type,
                max_hops=hops,
                limit=limit,
                min_confidence=min_confidence,
                as_of=as_of,
                known_at=known_at,
            )

    rows = run(work)
    reason = rows[0]["truncated"] if rows else None
    if wants_json(context, as_json):
        hidden = {"truncated", "ordinal", *([] if paths else ["path", "score"])}
        edges = [{key: value for key, value in row.items() if key not in hidden} for row in rows]
        print_json({"edges": edges, "truncated": reason is not None, "reason": reason})
        return
    for row in rows:
        typer.echo(edge_line(row) + (f"  score={row['score']:.2f}: {' · '.join(row['path'])}" if paths else ""))
    if not rows:
        typer.echo("no edges", err=True)
    if reason:
        typer.echo(f"there is more: ended by {reason}", err=True)


def edge_line(row: dict[str, Any]) -> str:
    """An edge as people read it: `Alice --works_on--> RockBot (confidence=0.90)`."""
    target = row["target"] if row["literal"] is None else f'"{row["literal"]}"'
    return f"{row['source']} --{row['type']}--> {target} (confidence={row['confidence']:.2f})"


def history(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="LINEAGE_OR_ID", help="A lineage, or the id of one of its versions.")],
    namespace: Namespace = "default",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """List every version of a memory, oldest first."""
    from db import memories

    async def work(session: Session) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        async with session.transaction(namespace) as tx:
            while page := await memories.history(
                tx, ref=ref, after=rows[-1]["version"] if rows else 0, as_of=as_of, known_at=known_at
            ):
                rows += page
        return rows

    rows = [{key: value for key, value in row.items() if key != "cursor"} for row in run(work)]
    if not rows:
        raise Failure(f"no memory and no lineage {ref!r} in namespace {namespace}")
    if wants_json(context, as_json):
        print_json(rows)
        return
    print_table(
        ("version", "memory", "valid_from", "valid_to", "recorded_at", "superseded_at"),
        ([r["version"], r["content"], r["valid_from"], _end(r), r["recorded_at"], r["superseded_at"]] for r in rows),
        fold="memory",
    )


def _end(row: dict[str, Any]) -> str:
    end: datetime | None = row["valid_to"]
    if row["status"] == "forgotten":
        return "forgotten"
    if end == row["valid_from"]:
        return "corrected"
    return "now" if end is None else show(end)
