"""`loci retain` and `loci reflect`: facts taken in, and put in their places."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import Session, open_resources, run
from service.cli.shell import Json, Namespace, wants_json

if TYPE_CHECKING:
    from service.retain.rules_or_model import Step

Decide = Literal["auto", "rules", "model"]
Decider = Annotated[Decide, typer.Option("--decide", help="Who decides: a language model if there is one (auto), rules, or model.")]
PAGE = 200  # orphans of one transaction
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]


def retain(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Sentences, lines or bullets; - reads standard input.")],
    namespace: Namespace = "default",
    category: Annotated[str | None, typer.Option(help="Slash-separated path.")] = None,
    source: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", help="The conversation it comes from.")] = None,
    dry_run: DryRun = False,
    decide: Decider = "auto",
    as_json: Json = False,
) -> None:
    """Take in a text: each fact is new, changes or repeats what is known. A language model decides if there is one, else rules."""
    import sys

    from loci.models.retain import Retain

    stated = {"category": category, "source": source, "session_id": session_id}
    content = sys.stdin.read() if text == "-" else text
    body = Retain.model_validate({"content": content, **{key: value for key, value in stated.items() if value is not None}})
    answer = run(lambda session: _retain(session, body.about(), namespace, dry_run, decide))
    if wants_json(context, as_json):
        print_json(answer)
        return
    for part, reason in answer["skipped"].items():
        echo(f"without {part}s: {reason}", err=True)
    rows = [[row["action"], row["fact"], row["confidence"], row["reason"]] for row in answer["decisions"]]
    print_table(("action", "fact", "confidence", "reason"), rows, fold="fact")


async def _retain(session: Session, stated: dict[str, Any], namespace: str, dry_run: bool, decide: Decide) -> dict[str, Any]:
    from service.retain.facts import retain_text

    async def step(work: "Step") -> Any:
        async with session.transaction(namespace, "writer") as tx:
            return await work(tx)

    async with open_resources(session) as made:
        return await retain_text(made, stated, decide, read=step, write=step, dry_run=dry_run)


def reflect(
    context: typer.Context,
    namespace: Namespace = "default",
    category: Annotated[str | None, typer.Option(help="Only this category and all below it.")] = None,
    dry_run: DryRun = False,
    decide: Decider = "auto",
    as_json: Json = False,
) -> None:
    """Put facts and episodes that stand nowhere under concepts, made from categories where needed, and link what is related."""
    pages = run(lambda session: _reflect(session, category, namespace, dry_run, decide))
    if wants_json(context, as_json):
        print_json(
            {
                **{key: [row for page in pages for row in page[key]] for key in ("placed", "linked", "created", "summarised")},
                "orphans_left": sum(page["orphans_left"] for page in pages),
                "dry_run": dry_run,
            }
        )
        return
    rows = [[row["memory_id"], row["parent"], row["similarity"], row["reason"]] for page in pages for row in page["placed"]]
    print_table(("memory", "parent", "similarity", "reason"), rows, fold="reason")
    left, linked = (sum(page["orphans_left"] for page in pages), sum(len(page["linked"]) for page in pages))
    echo(f"{len(rows):,} placed, {linked:,} links, {left:,} without a place{' (dry run)' if dry_run else ''}", err=True)


async def _reflect(session: Session, category: str | None, namespace: str, dry_run: bool, decide: Decide) -> list[dict[str, Any]]:
    from service.retain.reflection import Page, reflect_page

    async def step(work: "Step") -> Any:
        async with session.transaction(namespace, "writer") as tx:
            return await work(tx)

    pages: list[dict[str, Any]] = []
    async with open_resources(session) as made:
        while not pages or pages[-1]["next_cursor"] is not None:
            cursor = int(pages[-1]["next_cursor"]) if pages else None
            page = Page(PAGE, category, cursor)
            pages.append(await reflect_page(made, page, decide, read=step, write=step, dry_run=dry_run))
    return pages
