"""`loci namespace`: the worlds that memories live in, and their settings. `loci verify`: proof that they hold what they promise."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Commands, Json, complain, wants_json

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Create, list, show, change and delete namespaces.")
Name = Annotated[str, typer.Argument(help="Name of the namespace.")]
Assignments = Annotated[
    list[str], typer.Argument(metavar="KEY=VALUE...", help="Settings; VALUE is JSON or a word, empty: the default.")
]
PAGE = 1000


async def _list(session: Session, name: str | None = None) -> list[dict[str, Any]]:
    from db import namespaces

    async with session.transaction(None, None) as tx:
        return await namespaces.list_namespaces(tx, name=name, limit=PAGE)


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
    from db import namespaces
    from loci.models.namespaces import NamespaceInput

    wanted = NamespaceInput(name=name, description=description, language=language, settings=_settings(assignments or []))

    async def work(session: Session) -> dict[str, Any]:
        async with session.transaction(None, None) as tx:
            await namespaces.create_namespace(
                tx, name=wanted.name, description=wanted.description, language=wanted.language, settings=wanted.settings
            )
        return (await _list(session, name))[0]

    row = run(work)
    if wants_json(context, as_json):
        print_json(row)
    else:
        typer.echo(f"created {name}", err=True)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List namespaces with what they hold."""
    rows = run(_list)
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("name", "memories", "current_memories", "entities", "edges", "pending_embeddings", "description")
    print_table(columns, ([row[column] for column in columns] for row in rows))


@app.command()
def show(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Show a namespace: what it holds, and its settings in force."""
    row = run(lambda session: _list(session, name))[0]
    if wants_json(context, as_json):
        print_json(row)
        return
    settings = row.pop("settings")
    print_table(("field", "value"), row.items())
    typer.echo()
    print_table(("setting", "value"), sorted((key, str(value)) for key, value in settings.items()))


@app.command("set")
def set_(context: typer.Context, name: Name, assignments: Assignments, as_json: Json = False) -> None:
    """Change settings, such as `loci namespace set default rrf_k=20 decay_rate=0.02`; `rrf_k=` goes back to the default."""
    from db import namespaces
    from service.graph.decay import finish_decay_change

    changes = {"settings": _settings(assignments)}

    async def work(session: Session) -> dict[str, Any]:
        async with session.transaction(name, "admin") as tx:
            decaying = await namespaces.update_namespace(tx, changes=changes)
        if decaying:
            await finish_decay_change(lambda: session.transaction(name, "writer"), type=None)
        return (await _list(session, name))[0]

    row = run(work)
    if wants_json(context, as_json):
        print_json(row)
    else:
        print_table(("setting", "value"), sorted((key, str(row["settings"].get(key))) for key in changes["settings"]))


@app.command()
def delete(name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Delete a namespace and everything in it."""
    from db import namespaces

    if not yes:
        row = run(lambda session: _list(session, name))[0]
        typer.confirm(
            f"Delete {name} with {row['memories']:,} memories, {row['entities']:,} entities and {row['edges']:,} edges?",
            abort=True,
            err=True,
        )

    async def work(session: Session) -> None:
        async with session.transaction(name, "admin") as tx:
            await namespaces.delete_namespace(tx)

    run(work)
    typer.echo(f"deleted {name}", err=True)


def _settings(assignments: list[str]) -> dict[str, Any]:
    """Settings from KEY=VALUE: VALUE is JSON, else a word; empty means null, which is the default."""
    import orjson

    from service.jobs.schedules import check_settings

    settings: dict[str, Any] = {}
    for assignment in assignments:
        key, found, value = assignment.partition("=")
        if not found or not key:
            raise typer.BadParameter(f"{assignment!r} is not KEY=VALUE")
        try:
            settings[key] = orjson.loads(value) if value else None
        except orjson.JSONDecodeError:
            settings[key] = value
    check_settings(settings, datetime.now(UTC))
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
    from db import hierarchy, namespaces

    names: list[str] = [namespace] if namespace else []
    if namespace is None:
        async with session.transaction(None, None) as tx:
            while page := await namespaces.list_namespaces(tx, cursor=names[-1] if names else None):
                names += [row["name"] for row in page]
    found = []
    for name in names:
        async with session.transaction(name, "admin" if repair else "reader") as tx:
            promises = await namespaces.verify(tx)
            repaired: dict[str, int] = {}
            if repair and any(row["name"] == "closure" and row["broken"] for row in promises):
                done = await hierarchy.repair_hierarchy(tx)
                left = {row["name"]: row["broken"] for row in await namespaces.verify(tx)}
                repaired = {"closure": done["removed"] + done["added"]} if not left["closure"] else {}
        found += [{"namespace": name, **row, "repaired": repaired.get(row["name"], 0)} for row in promises]
    return found
