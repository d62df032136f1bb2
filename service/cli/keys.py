"""`loci key`: API keys, shown once when they are made."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from service.cli.output import print_json, print_table
from service.cli.session import Session, run
from service.cli.shell import Commands, Json, Namespace, parse_time, wants_json

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Make, list and revoke API keys.")
MOST = 1000


class Role(StrEnum):
    """What a key may do in its namespace."""

    reader = "reader"
    writer = "writer"
    admin = "admin"


@app.command()
def create(
    context: typer.Context,
    namespace: Namespace = "default",
    role: Annotated[Role, typer.Option(help="What the key may do there.")] = Role.writer,
    name: Annotated[str, typer.Option(help="A name to know it by.")] = "key",
    expires: Annotated[
        datetime | None, typer.Option(parser=parse_time, metavar="TIME", help="When it ends; default: never.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a key and print it, this once: only its hash is stored."""
    from db import tenancy
    from service.keys import new_key
    from service.schemas import KeyInput

    wanted = KeyInput(role=role.value, name=name, expires_at=expires)
    made = new_key()

    async def work(session: Session) -> dict[str, object]:
        async with session.transaction(namespace, "admin") as tx:
            return await tenancy.create_key(
                tx, id=made.id, hash=made.hash, role=wanted.role, name=wanted.name, expires_at=wanted.expires_at
            )

    row = run(work)
    if wants_json(context, as_json):
        print_json({**row, "name": name, "namespace": namespace, "role": role.value, "expires_at": expires, "key": made.key})
        return
    typer.echo(made.key)
    typer.echo(f"{role.value} in namespace {namespace}, id {made.id}. Keep it now: it cannot be shown again.", err=True)


@app.command("list")
def list_(context: typer.Context, namespace: Namespace = "default", as_json: Json = False) -> None:
    """List the keys that reach a namespace, newest first."""
    from db import tenancy

    async def work(session: Session) -> list[dict[str, object]]:
        async with session.transaction(namespace, "admin") as tx:
            return await tenancy.list_keys(tx, limit=MOST)

    rows = run(work)
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("id", "name", "role", "created_at", "expires_at", "revoked_at")
    print_table(columns, ([row[column] for column in columns] for row in rows))


@app.command()
def revoke(id: Annotated[UUID, typer.Argument(help="Id of the key.")], namespace: Namespace = "default") -> None:
    """End a key at once."""
    from db import tenancy

    async def work(session: Session) -> None:
        async with session.transaction(namespace, "admin") as tx:
            await tenancy.revoke_key(tx, id=id)

    run(work)
    typer.echo(f"revoked {id}", err=True)
