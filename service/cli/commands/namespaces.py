"""`loci namespace`: the worlds that memories live in, and their settings. `loci verify`: proof that they hold what they promise."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.framework import App, Yes, confirm_or_exit, message_printer, print_error, settings_of, tell_result, tell_rows
from service.cli.output import echo, print_fields, print_table
from service.cli.rest import open_service

if TYPE_CHECKING:
    from service.cli.database_session import Session

app = App("Create, list, show, change and delete namespaces.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the namespace.")]
Assignments = Annotated[
    list[str], typer.Argument(metavar="KEY=VALUE", help="Settings; VALUE is JSON or a word, empty: the default.")
]
PAGE = 1000


@app.command()
def create(
    name: Name,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    language: Annotated[str, typer.Option(help="Text search configuration of PostgreSQL.")] = "english",
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting; repeatable.")] = None,
) -> None:
    """Create a namespace."""
    stated = {"name": name, "description": description, "language": language, "settings": settings_of(assignments or [])}
    with open_service() as rest:
        row = rest.post("/namespaces", **stated)
    tell_result(row, message_printer(f"created {name}"))


@app.command("list")
def list_() -> None:
    """List namespaces with what they hold."""
    with open_service() as rest:
        rows = rest.list_items("/namespaces")
    columns = ("name", "memories", "current_memories", "entities", "edges", "pending_embeddings", "description")
    tell_rows(rows, *columns, fold="description")


@app.command()
def show(name: Name) -> None:
    """Show a namespace: what it holds, and its settings."""
    with open_service() as rest:
        row = rest.get("/namespaces/{name}", {"name": name})
    tell_result(row, lambda: _tell_namespace(row))


def _tell_namespace(row: dict[str, Any]) -> None:
    print_fields({field: value for field, value in row.items() if field != "settings"})
    echo()
    print_table(("setting", "value"), sorted((key, str(value)) for key, value in row["settings"].items()))


@app.command("set")
def set_(name: Name, assignments: Assignments) -> None:
    """Change settings of a namespace.

    Such as `loci namespace set default rrf_k=20 decay_rate=0.02`; `rrf_k=` goes back to the default.
    """
    changes = settings_of(assignments)
    with open_service() as rest:
        row = rest.patch("/namespaces/{name}", {"name": name}, settings=changes)
    rows = sorted((key, str(row["settings"].get(key))) for key in changes)
    tell_result(row, lambda: print_table(("setting", "value"), rows))


@app.command()
def move(
    name: Name,
    to: Annotated[int, typer.Option("--to", metavar="CELL", min=1, help="Number of the cell.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much it is, and how long writers will wait.")] = False,
) -> None:
    """Move a namespace to another cell while agents work in it.

    Over LOCI_MIGRATION_URL, in the cell that has it. Broken off, the same command goes on where it was.
    """
    from db.cells.move import move_namespace, plan_move
    from service.cli.commands.cells import this_cell

    with this_cell() as url:
        if dry_run:
            plan = plan_move(url, name, to)
            tell_result(plan, lambda: print_fields(dict(plan)))
            return
        moved = move_namespace(url, name, to, watch=lambda step: None if step.endswith("unnoted") else echo(step, err=True))
    tell_result(
        moved,
        message_printer(f"{name} is in cell {to}; writers waited {moved['held_seconds'] or 0:.2f} s. Back up both cells now."),
    )


@app.command()
def delete(name: Name, yes: Yes = False) -> None:
    """Delete a namespace and everything in it."""
    with open_service() as rest:
        if not yes:
            row = rest.get("/namespaces/{name}", {"name": name})
            counts = f"{row['memories']:,} memories, {row['entities']:,} entities and {row['edges']:,} edges"
            confirm_or_exit(f"Delete {name} with {counts}?", yes=yes)
        rest.delete("/namespaces/{name}", {"name": name})
    tell_result({"name": name, "deleted": True}, message_printer(f"deleted {name}"))


def verify(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", envvar="LOCI_NAMESPACE", help="One namespace instead of all.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild what differs in the closure and in the index of words.")
    ] = False,
) -> None:
    """Prove what Loci promises about the data.

    The closure is the recursion, no two versions are valid at once, and more. Reads every row of the namespaces. Exit code 1 if
    anything is broken and was not repaired.
    """
    from service.cli.database_session import run_command

    rows = run_command(lambda session: _verify_namespaces(session, namespace, repair))
    columns = ("namespace", "promise", "checked", "broken", "repaired", "example")
    cells = [(r["namespace"], r["name"], r["checked"], r["broken"], r["repaired"], r["example"]) for r in rows]
    tell_result(rows, lambda: print_table(columns, cells, fold="example"))
    broken = [row for row in rows if row["broken"] and not row["repaired"]]
    if broken:
        repairable = any(row["name"] in ("closure", "postings") for row in broken)
        print_error(f"{len(broken)} promises are broken", "`loci verify --repair` rebuilds what it can." if repairable else None)
        raise typer.Exit(1)


async def _verify_namespaces(session: "Session", namespace: str | None, repair: bool) -> list[dict[str, Any]]:
    """The promises of one namespace or of all; a repair is checked again in its own transaction."""
    from service.namespaces.namespaces import list_namespaces
    from service.namespaces.verify import verify

    names: list[str] = [namespace] if namespace else []
    if namespace is None:
        async with session.open_transaction(None, None) as tx:
            cursor = None
            while True:
                page = await list_namespaces(tx, limit=PAGE, cursor=cursor)
                names += [row["name"] for row in page["items"]]
                if (cursor := page["next_cursor"]) is None:
                    break
    found = []
    for name in names:
        async with session.open_transaction(name, "admin" if repair else "reader") as tx:
            found += [{"namespace": name, **row} for row in await verify(tx, repair=repair)]
    return found
