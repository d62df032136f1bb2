"""`loci model`: embedding models, and what calls of the language model cost."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from service.cli.framework import App, Limit, Namespace, tell_result, tell_rows
from service.cli.output import print_fields
from service.cli.rest import open_service

app = App("Show models, their calls, and what those cost.")


@app.command("list")
def list_() -> None:
    """List embedding models, the active one first."""
    with open_service() as rest:
        rows = rest.get("/embeddings/models")["items"]
    tell_rows(rows, "name", "state", "dimensions", "waiting", "refused", "created_at")


@app.command()
def calls(
    namespace: Namespace = None,
    limit: Limit = 50,
    purpose: Annotated[str | None, typer.Option(help="What for, such as memories or retain.")] = None,
    job: Annotated[UUID | None, typer.Option(help="Of this job.")] = None,
) -> None:
    """List calls of the language model, newest first."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/model-calls", limit=limit, purpose=purpose, job_id=job)
    columns = ("started_at", "purpose", "model", "state", "prompt_tokens", "completion_tokens", "cost", "took_ms", "error")
    tell_rows(rows, *columns, fold="error")


@app.command()
def usage(
    namespace: Namespace = None,
    day: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Of this day (UTC); default: today.")] = None,
) -> None:
    """Show what calls have cost on a day, and what is left."""
    with open_service(namespace) as rest:
        row = rest.get("/model-usage", day=day.date().isoformat() if day else None)
    tell_result(row, lambda: print_fields(row, "of the day"))
