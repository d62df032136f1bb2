"""`loci retain` and `loci reflect`: facts taken in, and put in their places."""

from typing import Annotated, Any, Literal

import typer

from service.cli.framework import Namespace, Session, read_stdin, tell_result
from service.cli.output import echo, print_table
from service.cli.rest import open_service

Decide = Literal["auto", "rules", "model"]
Decider = Annotated[Decide, typer.Option("--decide", help="Who decides: a language model if there is one (auto), rules, or model.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]
LISTS = ("placed", "linked", "created", "summarised")
ORPHANS_PER_REQUEST = 200  # orphans of one request


def retain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentences, lines or bullets; - reads standard input.")],
    namespace: Namespace = None,
    category: Annotated[str | None, typer.Option(help="Slash-separated path.")] = None,
    source: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    user: Annotated[str | None, typer.Option(help="For whom it is said, where nobody is named.")] = None,
    session_id: Session = None,
    dry_run: DryRun = False,
    decide: Decider = "auto",
) -> None:
    """Take in a text, as facts.

    Each fact is new, changes or repeats what is known. A language model decides if there is one, else rules.
    """
    stated = {"category": category, "source": source, "user": user, "session_id": session_id, "dry_run": dry_run, "decide": decide}
    content = read_stdin() if text == "-" else text
    with open_service(namespace) as rest:
        answer = rest.post("/retain", content=content, **stated)
    tell_result(answer, lambda: _tell_retain_report(answer))


def _tell_retain_report(answer: dict[str, Any]) -> None:
    for part, reason in answer["skipped"].items():
        echo(f"without {part}s: {reason}", err=True)
    rows = [[row["action"], row["fact"], row["confidence"], row["reason"]] for row in answer["decisions"]]
    print_table(("action", "fact", "confidence", "reason"), rows, fold="fact")
    if left := answer["left_out"]:
        echo(f"{len(left):,} of these in no memory: {'; '.join(row['fact'] for row in left)}", err=True)


def reflect(
    namespace: Namespace = None,
    category: Annotated[str | None, typer.Option(help="Only this category and all below it.")] = None,
    dry_run: DryRun = False,
    decide: Decider = "auto",
) -> None:
    """Give memories that stand nowhere a place.

    Facts and episodes go under concepts, made from categories where needed, and what is related is linked.
    """
    pages: list[dict[str, Any]] = []
    with open_service(namespace) as rest:
        while not pages or pages[-1]["next_cursor"] is not None:
            stated = {"category": category, "dry_run": dry_run, "decide": decide, "limit": ORPHANS_PER_REQUEST}
            pages.append(rest.post("/reflect", **stated, cursor=pages[-1]["next_cursor"] if pages else None))
    found: dict[str, Any] = {name: [row for page in pages for row in page[name]] for name in LISTS}
    found |= {"orphans_left": sum(page["orphans_left"] for page in pages), "dry_run": dry_run}
    tell_result(found, lambda: _tell_reflect_report(found))


def _tell_reflect_report(found: dict[str, Any]) -> None:
    rows = [[row["memory_id"], row["parent"], row["similarity"], row["reason"]] for row in found["placed"]]
    print_table(("memory", "parent", "similarity", "reason"), rows, fold="reason")
    counts = f"{len(rows):,} placed, {len(found['linked']):,} links, {found['orphans_left']:,} without a place"
    echo(f"{counts}{' (dry run)' if found['dry_run'] else ''}", err=True)
