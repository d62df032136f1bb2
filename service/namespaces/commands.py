"""`loci namespace`: the worlds that memories live in, and their settings. `loci verify`: proof that they hold what they promise."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import echo, print_json, print_rows, print_table
from service.cli.session import Session, run, run_in
from service.cli.shell import Commands, Json, complain, wants_json

if TYPE_CHECKING:
    from db.namespaces import NamespaceRow

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Create, list, show, change and delete namespaces.")
Name = Annotated[str, typer.Argument(help="Name of the namespace.")]
Assignments = Annotated[
    list[str], typer.Argument(metavar="KEY=VALUE...", help="Settings; VALUE is JSON or a word, empty: the default.")
]
PAGE = 1000


@app.command()
def create(
    context: typer.Context,
    name: Name,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    language: Annotated[str, typer.Option(help="Text search configuration of PostgreSQL.")] = "english",
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Create a namespace."""
    from loci.models.namespaces import NamespaceInput
    from service.namespaces.namespaces import create_namespace

    wanted = NamespaceInput(name=name, description=description, language=language, settings=_settings(assignments or []))
    row = run_in(None, lambda tx: create_namespace(tx, wanted), None)
    if wants_json(context, as_json):
        print_json(row)
    else:
        echo(f"created {name}", err=True)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List namespaces with what they hold."""
    from service.namespaces.namespaces import list_namespaces

    rows = run_in(None, lambda tx: list_namespaces(tx, limit=PAGE), None)["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("name", "memories", "current_memories", "entities", "edges", "pending_embeddings", "description")
    print_rows(columns, rows)


@app.command()
def show(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Show a namespace: what it holds, and its settings in force."""
    row = _namespace(name)
    if wants_json(context, as_json):
        print_json(row)
        return
    print_table(("field", "value"), [(field, value) for field, value in row.items() if field != "settings"])
    echo()
    print_table(("setting", "value"), sorted((key, str(value)) for key, value in row["settings"].items()))


@app.command("set")
def set_(context: typer.Context, name: Name, assignments: Assignments, as_json: Json = False) -> None:
    """Change settings, such as `loci namespace set default rrf_k=20 decay_rate=0.02`; `rrf_k=` goes back to the default."""
    changes = {"settings": _settings(assignments)}
    row = run(lambda session: _change(session, name, changes))
    if wants_json(context, as_json):
        print_json(row)
    else:
        print_table(("setting", "value"), sorted((key, str(row["settings"].get(key))) for key in changes["settings"]))


@app.command()
def delete(name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Delete a namespace and everything in it."""
    from service.namespaces.namespaces import delete_namespace

    if not yes:
        row = _namespace(name)
        typer.confirm(
            f"Delete {name} with {row['memories']:,} memories, {row['entities']:,} entities and {row['edges']:,} edges?",
            abort=True,
            err=True,
        )
    run_in(name, delete_namespace, "admin")
    echo(f"deleted {name}", err=True)


def _namespace(name: str) -> "NamespaceRow":
    from service.namespaces.namespaces import get_namespace

    return run_in(None, lambda tx: get_namespace(tx, name=name), None)


async def _change(session: Session, name: str, changes: dict[str, Any]) -> "NamespaceRow":
    """Change settings; where these change the decay of edges, the edges follow."""
    from service.graph.decay import finish_decay_change
    from service.namespaces.namespaces import change_namespace, get_namespace

    async with session.transaction(name, "admin") as tx:
        decaying = await change_namespace(tx, changes=changes)
    if decaying:
        await finish_decay_change(lambda: session.transaction(name, "writer"), type=None)
    async with session.transaction(None, None) as tx:
        return await get_namespace(tx, name=name)


def _settings(assignments: list[str]) -> dict[str, Any]:
    """Settings from KEY=VALUE: VALUE is JSON, else a word; empty means null, which is the default."""
    import orjson

    settings: dict[str, Any] = {}
    for assignment in assignments:
        key, found, value = assignment.partition("=")
        if not found or not key:
            raise typer.BadParameter(f"{assignment!r} is not KEY=VALUE")
        try:
            settings[key] = orjson.loads(value) if value else None
        except orjson.JSONDecodeError:
            settings[key] = value
    return settings


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
    from service.namespaces.namespaces import list_namespaces
    from service.namespaces.verify import verify

    names: list[str] = [namespace] if namespace else []
    if namespace is None:
        async with session.transaction(None, None) as tx:
            cursor = None
            while True:
                page = await list_namespaces(tx, limit=PAGE, cursor=cursor)
                names += [row["name"] for row in page["items"]]
                if (cursor := page["next_cursor"]) is None:
                    break
    found = []
    for name in names:
        async with session.transaction(name, "admin" if repair else "reader") as tx:
            found += [{"namespace": name, **row} for row in await verify(tx, repair=repair)]
    return found
