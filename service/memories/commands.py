"""`loci history` and `loci erase`: the versions of a memory, and memories deleted for good."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_table, show
from service.cli.session import run_in
from service.cli.shell import AsOf, Failure, Json, KnownAt, Namespace, wants_json

if TYPE_CHECKING:
    from db.memories import MemoryRow


class Versions(StrEnum):
    """Which versions of a memory are meant."""

    all = "all"
    this = "this"


def erase(
    context: typer.Context,
    ids: Annotated[list[UUID], typer.Argument(metavar="ID...", help="Ids of memories.")],
    namespace: Namespace = "default",
    versions: Annotated[Versions, typer.Option(help="Every version of their lineages, or this one alone.")] = Versions.all,
    subtree: Annotated[bool, typer.Option("--subtree", help="With everything that stands under them now.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Erase memories for good, from every table: there is no way back. Prints the receipt."""
    from service.memories.memories import erase_memories

    if not yes:
        typer.confirm(
            f"Erase {_wording(len(ids), versions, subtree=subtree)} from {namespace}? This cannot be undone.", abort=True, err=True
        )
    receipt = run_in(namespace, lambda tx: erase_memories(tx, ids=ids, versions=versions.value, subtree=subtree), "writer")
    if wants_json(context, as_json):
        print_json(receipt)
        return
    counts = {"deleted": receipt["deleted"], "added": receipt["added"], "changed": receipt["changed"]}
    tables = sorted({table for count in counts.values() for table in count})
    print_table(("table", *counts), ([table, *(count.get(table) for count in counts.values())] for table in tables))
    echo(f"erased {receipt['erased']:,} memories", err=True)


def _wording(count: int, versions: Versions, *, subtree: bool) -> str:
    what = "a memory" if count == 1 else f"{count:,} memories"
    extent = "with every version" if versions is Versions.all else "in this version alone"
    return f"{what} {extent}{', and everything under it' if subtree else ''}"


def history(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="LINEAGE_OR_ID", help="A lineage, or the id of one of its versions.")],
    namespace: Namespace = "default",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """List every version of a memory, oldest first."""
    from service.memories.memories import all_versions

    rows = run_in(namespace, lambda tx: all_versions(tx, ref=ref, as_of=as_of, known_at=known_at))
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


def _end(row: "MemoryRow") -> str:
    end = row["valid_to"]
    if row["status"] == "forgotten":
        return "forgotten"
    if end == row["valid_from"]:
        return "corrected"
    return "now" if end is None else show(end)
