"""`loci job`: work that is done later, and what became of it."""

from typing import Annotated, Any
from uuid import UUID

import typer

from service.cli.framework import App, Limit, Namespace, tell_result, tell_rows
from service.cli.output import echo, print_fields, print_table
from service.cli.rest import open_service

Id = Annotated[UUID, typer.Argument(metavar="ID", help="The job, as `loci job list` shows it.")]
app = App("List jobs, look at one, try it again or cancel it.")


@app.command("list")
def list_(
    namespace: Namespace = None,
    limit: Limit = 50,
    state: Annotated[str | None, typer.Option(help="waiting, running, succeeded, dead, cancelled or skipped.")] = None,
    kind: Annotated[str | None, typer.Option(help="dream, enrich, contradictions, settle, tune or project.")] = None,
) -> None:
    """List jobs, newest first."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/jobs", limit=limit, state=state, kind=kind)
    tell_rows(rows, "id", "created_at", "kind", "state", "tries", "due_at", "error", fold="error")


@app.command()
def show(id: Id, namespace: Namespace = None) -> None:
    """Show a job: how it stands, and what it did."""
    with open_service(namespace) as rest:
        row = rest.get("/jobs/{id}", {"id": id})
    tell_result(row, lambda: _tell_job_row(row))


@app.command()
def retry(id: Id, namespace: Namespace = None) -> None:
    """Try a job again, or now if it waits.

    It may be dead, cancelled or skipped. Passes that it had finished are not run again.
    """
    with open_service(namespace) as rest:
        row = rest.post("/jobs/{id}/retry", {"id": id})
    tell_result(row, lambda: _tell_job_row(row))


@app.command()
def cancel(id: Id, namespace: Namespace = None) -> None:
    """Cancel a job; what it has committed stays.

    One that runs is told to stop, and is cancelled when it has. One that was given up is let be.
    """
    with open_service(namespace) as rest:
        row = rest.post("/jobs/{id}/cancel", {"id": id})
    tell_result(row, lambda: _tell_job_row(row))


def _tell_job_row(row: dict[str, Any]) -> None:
    passes, calls = row["passes"], row["calls"]
    tokens = f"{calls['prompt_tokens']:,} tokens sent, {calls['completion_tokens']:,} came back"
    fields = {name: value for name, value in row.items() if name not in {"passes", "calls"}}
    if calls["calls"]:
        fields["calls of a model"] = f"{calls['calls']:,}, {tokens}, cost {calls['cost']}"
    print_fields(fields)
    if passes:
        echo()
        columns = ("pass", "outcome", "seen", "proposed", "applied", "refused", "operation_id", "error")
        print_table(columns, ([len(p[c]) if c == "refused" else p[c] for c in columns] for p in passes), fold="error")
