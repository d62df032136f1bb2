"""`loci jobs`: work that is done later, and what became of it."""

from typing import TYPE_CHECKING, Annotated, Any, get_args
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_rows, print_table
from service.cli.session import run_in
from service.cli.shell import Commands, Json, Namespace, wants_json

if TYPE_CHECKING:
    from db.jobs.jobs import JobDetail

HELP = ("-h", "--help")
Id = Annotated[UUID, typer.Argument(metavar="ID", help="The job.")]


class Listing(Commands):
    """A group that lists when no command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; options alone are those of the list."""
        named = bool(args) and (args[0] in HELP or not args[0].startswith("-"))
        return super().parse_args(ctx, args if named else ["list", *args])


app = typer.Typer(cls=Listing, help="List jobs, look at one, try it again or cancel it. Alone it lists them.")


@app.command("list")
def list_(
    context: typer.Context,
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    state: Annotated[str | None, typer.Option(help="waiting, running, succeeded, dead, cancelled or skipped.")] = None,
    kind: Annotated[str | None, typer.Option(help="dream, enrich or contradictions.")] = None,
    as_json: Json = False,
) -> None:
    """List jobs, newest first."""
    from loci.models.jobs import JobKind
    from service.jobs.jobs import list_jobs

    if kind is not None and kind not in get_args(JobKind):
        raise typer.BadParameter(f"{kind} is no kind of job: {', '.join(get_args(JobKind))}", param_hint="--kind")
    rows = run_in(namespace, lambda tx: list_jobs(tx, limit=limit, state=state, kind=kind))["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("id", "created_at", "kind", "state", "tries", "due_at", "error")
    print_rows(columns, rows, fold="error")


@app.command()
def show(context: typer.Context, id: Id, namespace: Namespace = "default", as_json: Json = False) -> None:
    """Show a job: how it stands, what its passes did, and what its calls of a language model took."""
    from service.jobs.jobs import get_job

    _print(context, run_in(namespace, lambda tx: get_job(tx, id=id)), as_json)


@app.command()
def retry(context: typer.Context, id: Id, namespace: Namespace = "default", as_json: Json = False) -> None:
    """Try a job again that is dead, cancelled or skipped, or now if it waits; passes that it had finished are not run again."""
    from service.jobs.jobs import retry_job

    _print(context, run_in(namespace, lambda tx: retry_job(tx, id=id), "writer"), as_json)


@app.command()
def cancel(context: typer.Context, id: Id, namespace: Namespace = "default", as_json: Json = False) -> None:
    """Cancel a job. One that runs is told to stop, and is cancelled when it has; what it has committed stays."""
    from service.jobs.jobs import cancel_job

    _print(context, run_in(namespace, lambda tx: cancel_job(tx, id=id), "writer"), as_json)


def _print(context: typer.Context, row: "JobDetail", as_json: bool) -> None:
    if wants_json(context, as_json):
        print_json(row)
        return
    passes, calls = row["passes"], row["calls"]
    tokens = f"{calls['prompt_tokens']:,} tokens sent, {calls['completion_tokens']:,} came back"
    used = f"{calls['calls']:,}, {tokens}, cost {calls['cost']}"
    fields = {name: value for name, value in row.items() if name not in {"passes", "calls"}}
    if calls["calls"]:
        fields["calls of a model"] = used
    print_table(("field", "value"), fields.items(), fold="value")
    if passes:
        echo()
        columns = ("pass", "outcome", "seen", "proposed", "applied", "refused", "operation_id", "error")
        print_table(columns, ([len(p[c]) if c == "refused" else p[c] for c in columns] for p in passes), fold="error")
