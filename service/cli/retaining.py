"""`loci retain` and `loci reflect`: facts taken in, and put in their places."""

from typing import Annotated, Any

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, Namespace, wants_json

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(retain)
    app.command()(reflect)


def retain(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Sentences, lines or bullets; - reads standard input.")],
    namespace: Namespace = "default",
    category: Annotated[str | None, typer.Option(help="Slash-separated path.")] = None,
    source: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", help="The conversation it comes from.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take in a text: each fact is new, changes or repeats what is known; rules decide."""
    import sys

    from service.schemas_retain import Retain

    stated = {"category": category, "source": source, "session_id": session_id}
    content = sys.stdin.read() if text == "-" else text
    body = Retain.model_validate({"content": content, **{key: value for key, value in stated.items() if value is not None}})
    answer = run(lambda session: _retain(session, body.stated(), namespace, dry_run))
    if wants_json(context, as_json):
        print_json(answer)
        return
    for part, reason in answer["skipped"].items():
        typer.echo(f"without {part}s: {reason}", err=True)
    rows = [[row["action"], row["fact"], row["confidence"], row["reason"]] for row in answer["decisions"]]
    print_table(("action", "fact", "confidence", "reason"), rows, fold="fact")


async def _retain(session: Session, stated: dict[str, Any], namespace: str, dry_run: bool) -> dict[str, Any]:
    from service import retain as retaining
    from service.embedding import make_provider

    provider = make_provider(session.settings.embedding)
    try:
        prepared = await retaining.prepare(stated, provider, session.settings.embedding)
    finally:
        if provider is not None:
            await provider.close()
    async with session.transaction(namespace, "writer") as tx:
        return await retaining.retain(tx, prepared, dry_run=dry_run)


def reflect(
    context: typer.Context,
    namespace: Namespace = "default",
    category: Annotated[str | None, typer.Option(help="Only this category and all below it.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Put facts and episodes that stand nowhere under concepts, made from categories where needed, and link what is related."""
    pages = run(lambda session: _reflect(session, category, namespace, dry_run))
    if wants_json(context, as_json):
        print_json(
            {
                **{key: [row for page in pages for row in page[key]] for key in ("placed", "linked", "created")},
                "orphans_left": sum(page["orphans_left"] for page in pages),
                "dry_run": dry_run,
            }
        )
        return
    rows = [[row["memory_id"], row["parent"], row["similarity"], row["reason"]] for page in pages for row in page["placed"]]
    print_table(("memory", "parent", "similarity", "reason"), rows, fold="reason")
    left, linked = (sum(page["orphans_left"] for page in pages), sum(len(page["linked"]) for page in pages))
    typer.echo(f"{len(rows):,} placed, {linked:,} links, {left:,} without a place{' (dry run)' if dry_run else ''}", err=True)


async def _reflect(session: Session, category: str | None, namespace: str, dry_run: bool) -> list[dict[str, Any]]:
    from service import retain as retaining

    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"] is not None:
        cursor = int(pages[-1]["next_cursor"]) if pages else None
        async with session.transaction(namespace, "writer") as tx:
            pages.append(await retaining.reflect(tx, limit=200, category=category, cursor=cursor, dry_run=dry_run))
    return pages
