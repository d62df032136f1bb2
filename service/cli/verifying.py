"""`loci verify`: proof that the database keeps its promises."""

from typing import Annotated, Any

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Json, complain, wants_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    context: typer.Context,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", envvar="LOCI_NAMESPACE", help="One namespace instead of all.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what differs in the closure of the hierarchy.")] = False,
    as_json: Json = False,
) -> None:
    """Prove what Loci promises about the data: the closure is the recursion, no two versions are valid at once, and more.

    Reads every row of the namespaces. Exit code 1 if anything is broken and was not repaired.
    """
    rows = run(lambda session: _verify(session, namespace, repair))
    if wants_json(context, as_json):
        print_json(rows)
    else:
        print_table(
            ("namespace", "promise", "checked", "broken", "repaired", "example"),
            [(r["namespace"], r["name"], r["checked"], r["broken"], r["repaired"], r["example"]) for r in rows],
            fold="example",
        )
    broken = [row for row in rows if row["broken"] and not row["repaired"]]
    if broken:
        repairable = any(row["name"] == "closure" for row in broken)
        complain(f"{len(broken)} promises are broken", "`loci verify --repair` rebuilds the closure." if repairable else None)
        raise typer.Exit(1)


async def _verify(session: Session, namespace: str | None, repair: bool) -> list[dict[str, Any]]:
    """The promises of one namespace or of all; a repair is checked again in its own transaction."""
    from db import tenancy, verification

    names: list[str] = [namespace] if namespace else []
    if namespace is None:
        async with session.transaction(None, None) as tx:
            while page := await tenancy.list_namespaces(tx, cursor=names[-1] if names else None):
                names += [row["name"] for row in page]
    found = []
    for name in names:
        async with session.transaction(name, "admin" if repair else "reader") as tx:
            promises = await verification.verify(tx)
            repaired: dict[str, int] = {}
            if repair and any(row["name"] == "closure" and row["broken"] for row in promises):
                done = await verification.repair_hierarchy(tx)
                left = {row["name"]: row["broken"] for row in await verification.verify(tx)}
                repaired = {"closure": done["removed"] + done["added"]} if not left["closure"] else {}
        found += [{"namespace": name, **row, "repaired": repaired.get(row["name"], 0)} for row in promises]
    return found
