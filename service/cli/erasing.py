"""`loci erase`: memories deleted for good."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, Namespace, wants_json


class Versions(StrEnum):
    """Which versions of a memory are meant."""

    all = "all"
    this = "this"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(erase)


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
    from db import memories

    if not yes:
        typer.confirm(
            f"Erase {_wording(len(ids), versions, subtree=subtree)} from {namespace}? This cannot be undone.", abort=True, err=True
        )

    async def work(session: Session) -> dict[str, Any]:
        async with session.transaction(namespace, "writer") as tx:
            return await memories.erase_memories(tx, ids=ids, versions=versions.value, subtree=subtree)

    receipt = run(work)
    if wants_json(context, as_json):
        print_json(receipt)
        return
    kinds = ("deleted", "added", "changed")
    tables = sorted({table for kind in kinds for table in receipt[kind]})
    print_table(("table", *kinds), ([table, *(receipt[kind].get(table) for kind in kinds)] for table in tables))
    typer.echo(f"erased {receipt['erased']:,} memories", err=True)


def _wording(count: int, versions: Versions, *, subtree: bool) -> str:
    what = "a memory" if count == 1 else f"{count:,} memories"
    extent = "with every version" if versions is Versions.all else "in this version alone"
    return f"{what} {extent}{', and everything under it' if subtree else ''}"
