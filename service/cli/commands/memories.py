"""`loci memory`: what is remembered, its versions, and memories that are taken away."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.framework import (
    App,
    AsOf,
    Failure,
    KnownAt,
    Limit,
    Namespace,
    Session,
    Yes,
    confirm_or_exit,
    message_printer,
    parse_time,
    read_stdin,
    settings_of,
    tell_result,
    tell_rows,
)
from service.cli.output import echo, print_fields, print_table
from service.cli.rest import NotFound, open_service

app = App("Add, list, show, change, forget and erase memories.")
Ref = Annotated[str, typer.Argument(metavar="LINEAGE_OR_ID", help="A lineage, or the id of one of its versions.")]
Category = Annotated[str | None, typer.Option(help="Slash-separated path.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A label; repeatable.")]
Moment = Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="A date or time; UTC unless it says.")]
COLUMNS = ("id", "content", "category", "valid_from")


class Versions(StrEnum):
    """Which versions of a memory are meant."""

    all = "all"
    this = "this"


class Verdict(StrEnum):
    """Which of two memories holds."""

    replaces = "replaces"
    corrects = "corrects"
    both_true = "both_true"


SETTLED = {Verdict.replaces: "ends", Verdict.corrects: "was never true", Verdict.both_true: "is true as well"}


@app.command()
def add(
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")],
    namespace: Namespace = None,
    lineage: Annotated[str | None, typer.Option(help="Name of its versions: what had it before is replaced.")] = None,
    category: Category = None,
    tag: Tags = None,
    about: Annotated[str | None, typer.Option(help="Whom or what it is about: an entity, by name or id.")] = None,
    source: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session_id: Session = None,
    importance: Annotated[float | None, typer.Option(min=0, max=1, help="How much it matters.")] = None,
    valid_from: Moment = None,
    valid_to: Moment = None,
) -> None:
    """Remember something, as one memory."""
    stated = {
        "content": read_stdin().strip() if content == "-" else content,
        "lineage": lineage,
        "category": category,
        "tags": tag or None,
        "about": about,
        "source": source,
        "session_id": session_id,
        "importance": importance,
        "valid_from": valid_from,
        "valid_to": valid_to,
    }
    with open_service(namespace) as rest:
        row = rest.post("/memories", **stated)
    tell_result(row, lambda: _tell_written(row))


def _tell_written(row: dict[str, Any]) -> None:
    echo(row["id"])
    if row["duplicate"]:
        echo("it was known already, and counts once more", err=True)
    elif row["superseded"]:
        echo(f"version {row['version']} of {row['lineage']}; the one before ended", err=True)


@app.command("list")
def list_(
    namespace: Namespace = None,
    limit: Limit = 50,
    category: Annotated[str | None, typer.Option(help="This category and all below it.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Any of these labels; repeatable.")] = None,
    entity: Annotated[str | None, typer.Option(help="Mentions this entity: name, alias or id.")] = None,
    about: Annotated[str | None, typer.Option(help="About this entity: name, alias or id.")] = None,
    lineage: Annotated[str | None, typer.Option(help="Of this lineage.")] = None,
    session_id: Session = None,
    source: Annotated[str | None, typer.Option(help="Said by this one.")] = None,
    all_versions: Annotated[bool, typer.Option("--all", help="Superseded and forgotten ones, too.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """List memories, newest first."""
    asked = {
        "category": category,
        "tag": tag,
        "entity": entity,
        "about": about,
        "lineage": lineage,
        "session_id": session_id,
        "source": source,
    }
    times = {"as_of": as_of, "known_at": known_at, "all_versions": all_versions or None}
    with open_service(namespace) as rest:
        rows = rest.list_items("/memories", limit=limit, **asked, **times)
    tell_rows(rows, *COLUMNS, fold="content")


@app.command("show")
def show_(ref: Ref, namespace: Namespace = None, as_of: AsOf = None, known_at: KnownAt = None) -> None:
    """Show a memory with all its fields."""
    with open_service(namespace) as rest:
        row = _find_version(rest, ref, as_of=as_of, known_at=known_at)
    tell_result(row, lambda: print_fields(row))


def _find_version(rest: Any, ref: str, **times: datetime | None) -> dict[str, Any]:
    """A version by its id, or the one of a lineage that is visible."""
    known = _as_id(ref)
    rows = [rest.get("/memories/{id}", {"id": known}, **times)] if known else _list_current(rest, ref, **times)
    if not rows:
        raise Failure(f"no lineage {ref!r} has a current version", f"`loci memory history {ref}` lists those that did.")
    return dict(rows[0])


def _id_of(rest: Any, ref: str) -> str:
    """The id that is meant: itself, or that of the version of a lineage that is visible."""
    return _as_id(ref) or str(_find_version(rest, ref)["id"])


def _last_forgotten(rest: Any, ref: str) -> str:
    """The id that is meant: itself, or that of the last version of a lineage that was forgotten."""
    if known := _as_id(ref):
        return known
    forgotten = [row["id"] for row in _list_versions(rest, ref) if row["status"] == "forgotten"]
    if not forgotten:
        raise Failure(f"no version of lineage {ref!r} is forgotten", f"`loci memory history {ref}` lists them.")
    return str(forgotten[-1])


def _find_last_id(rest: Any, ref: str) -> str:
    """The id that is meant: itself, or that of the visible version of a lineage, else of its last one."""
    rows = [] if (known := _as_id(ref)) else _list_current(rest, ref) or _list_versions(rest, ref)
    return known or str(rows[-1]["id"])


def _list_current(rest: Any, lineage: str, **times: datetime | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rest.post("/memories/current", lineages=[lineage], **times)["items"]
    return rows


def _list_versions(rest: Any, ref: str, **times: datetime | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rest.list_items("/memories/{id}/history", {"id": ref}, **times)
    return rows


def _as_id(ref: str) -> str | None:
    """The reference, where it is an id and no lineage."""
    try:
        return str(UUID(ref))
    except ValueError:
        return None


@app.command()
def history(ref: Ref, namespace: Namespace = None, as_of: AsOf = None, known_at: KnownAt = None) -> None:
    """List every version of a memory, oldest first."""
    with open_service(namespace) as rest:
        try:
            rows = _list_versions(rest, ref, as_of=as_of, known_at=known_at)
        except NotFound as error:
            if "namespace" in error.detail:
                raise
            rows = []
    if not rows:
        raise Failure(f"no memory and no lineage {ref!r}" + (f" in namespace {namespace}" if namespace else ""))
    columns = ("version", "memory", "valid_from", "valid_to", "recorded_at", "superseded_at")
    cells = ([r["version"], r["content"], r["valid_from"], _format_end(r), r["recorded_at"], r["superseded_at"]] for r in rows)
    tell_result(rows, lambda: print_table(columns, cells, fold="memory"))


def _format_end(row: dict[str, Any]) -> str:
    end = row["valid_to"]
    if row["status"] == "forgotten":
        return "forgotten"
    if end == row["valid_from"]:
        return "corrected"
    return "now" if end is None else str(end)


@app.command()
def change(
    ref: Ref,
    assignments: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="Such as category=work 'tags=[\"a\"]'; empty: none.")
    ],
    namespace: Namespace = None,
) -> None:
    """Change category, tags, validity and such; not what it says."""
    with open_service(namespace) as rest:
        row = rest.patch("/memories/{id}", {"id": _id_of(rest, ref)}, **settings_of(assignments))
    tell_result(row, lambda: print_fields(row))


@app.command()
def unsettled(namespace: Namespace = None, limit: Limit = 50) -> None:
    """List pairs of which one memory may outdate the other."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/memories/unsettled", limit=limit)
    cells = [[pair["newer"]["id"], pair["newer"]["content"], pair["older"]["id"], pair["older"]["content"]] for pair in rows]
    tell_result(rows, lambda: print_table(("newer", "says", "older", "said"), cells, fold="says"))


@app.command()
def settle(
    newer: Annotated[str, typer.Argument(metavar="NEWER", help="What was told later: a lineage or an id.")],
    older: Annotated[str, typer.Argument(metavar="OLDER", help="What it may outdate: a lineage or an id.")],
    verdict: Annotated[Verdict, typer.Argument(help="The newer one replaces or corrects the older one, or both are true.")],
    namespace: Namespace = None,
) -> None:
    """Say which of two memories holds.

    `replaces`: the older one was true until the newer one began. `corrects`: it was never true. `both_true`: both stay.
    """
    with open_service(namespace) as rest:
        ids = {"id": _id_of(rest, newer)}
        row = rest.post("/memories/{id}/settle", ids, older=_id_of(rest, older), verdict=verdict.value)
    tell_result(row, message_printer(f"{row['newer']['content']}\n{SETTLED[verdict]}: {row['older']['content']}"))


@app.command()
def forget(ref: Ref, namespace: Namespace = None) -> None:
    """Forget a memory: nothing finds it until it is restored."""
    with open_service(namespace) as rest:
        row = rest.delete("/memories/{id}", {"id": _id_of(rest, ref)})
    tell_result(row, message_printer(f"forgotten: {row['content']}\n`loci memory restore {row['id']}` brings it back"))


@app.command()
def restore(ref: Ref, namespace: Namespace = None) -> None:
    """Take a forgetting back."""
    with open_service(namespace) as rest:
        row = rest.post("/memories/{id}/restore", {"id": _last_forgotten(rest, ref)})
    tell_result(row, message_printer(f"restored: {row['content']}"))


@app.command()
def erase(
    refs: Annotated[list[str], typer.Argument(metavar="LINEAGE_OR_ID", help="Lineages, or ids of their versions.")],
    namespace: Namespace = None,
    versions: Annotated[Versions, typer.Option(help="Every version of their lineages, or this one alone.")] = Versions.all,
    subtree: Annotated[bool, typer.Option("--subtree", help="With everything that stands under them now.")] = False,
    with_turns: Annotated[
        bool, typer.Option("--with-turns", help="With turns of conversation that hold all the words of an erased text.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Erase nothing, and say what would go.")] = False,
    yes: Yes = False,
) -> None:
    """Erase memories for good, and print the receipt.

    They are gone from every table: there is no way back.
    """
    if not dry_run:
        confirm_or_exit(
            f"Erase {_word_confirmation(len(refs), versions, subtree=subtree, with_turns=with_turns)}? This cannot be undone.",
            yes=yes,
        )
    with open_service(namespace) as rest:
        ids = [_find_last_id(rest, ref) for ref in refs]
        receipt = rest.post(
            "/memories/erase", ids=ids, versions=versions.value, subtree=subtree, with_turns=with_turns, dry_run=dry_run
        )
    tell_result(receipt, lambda: _tell_receipt(receipt))


def _tell_receipt(receipt: dict[str, Any]) -> None:
    counts = {name: receipt[name] for name in ("deleted", "added", "changed")}
    tables = sorted({table for count in counts.values() for table in count})
    print_table(("table", *counts), ([table, *(count.get(table) for count in counts.values())] for table in tables))
    echo(f"{'would erase' if receipt['dry_run'] else 'erased'} {receipt['erased']:,} memories", err=True)
    if receipt["turns_found"]:
        what = "erased" if "conversation_turns" in receipt["deleted"] else "still there; --with-turns erases them, too"
        echo(f"{receipt['turns_found']:,} turns of conversation hold the same words: {what}", err=True)
    for turn in receipt["turns"]:
        echo(f"turn: {turn['session_id']} {turn['id']}", err=True)
    for each in receipt["changes"]:
        echo(f"{each['action']}: {each['kind']} {each['content'] or each['subject_id']}", err=True)


def _word_confirmation(count: int, versions: Versions, *, subtree: bool, with_turns: bool) -> str:
    what = "a memory" if count == 1 else f"{count:,} memories"
    extent = "with every version" if versions is Versions.all else "in this version alone"
    more = f"{', and everything under it' if subtree else ''}{', and turns that hold the same words' if with_turns else ''}"
    return f"{what} {extent}{more}"
