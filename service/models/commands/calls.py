"""`loci model` and `loci prompts`: what calls of the language model cost, and the prompts that it is given."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from service.cli.output import print_json, print_rows, print_table
from service.cli.session import run_in
from service.cli.shell import Commands, Json, Namespace, wants_json

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Show calls of the language model and what they cost.")


@app.command()
def calls(
    context: typer.Context,
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    purpose: Annotated[str | None, typer.Option(help="What for, such as memories or retain.")] = None,
    job: Annotated[UUID | None, typer.Option(help="Of this job.")] = None,
    as_json: Json = False,
) -> None:
    """List calls of the language model, newest first."""
    from service.models.usage import list_model_calls

    rows = run_in(namespace, lambda tx: list_model_calls(tx, limit=limit, purpose=purpose, job_id=job))["items"]
    if wants_json(context, as_json):
        print_json(rows)
        return
    columns = ("started_at", "purpose", "model", "state", "prompt_tokens", "completion_tokens", "cost", "took_ms", "error")
    print_rows(columns, rows, fold="error")


@app.command()
def usage(
    context: typer.Context,
    namespace: Namespace = "default",
    day: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Of this day (UTC); default: today.")] = None,
    as_json: Json = False,
) -> None:
    """Show what calls of the language model have used on a day, and what is left of its budget."""
    from service.models.usage import model_usage

    row = run_in(namespace, lambda tx: model_usage(tx, day=day.date() if day else None))
    if wants_json(context, as_json):
        print_json(row)
    else:
        print_table(("of the day", "value"), row.items())
