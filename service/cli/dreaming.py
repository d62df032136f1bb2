"""`loci dream`: passes that ask a language model what to change, and their reports."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from service.cli.output import print_json
from service.cli.session import Session, asking, run
from service.cli.shell import Failure, Json, Namespace, wants_json

if TYPE_CHECKING:
    from service.jobs.work import Work

LOOK_EVERY = 0.2  # seconds between looks at a job that is waited for
SHOWN = 20  # lines of one kind in a printed report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(dream)


def dream(
    context: typer.Context,
    namespace: Namespace = "default",
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--pass", metavar="NAME", help="Only this pass: memories, entities, preferences, graph or contradictions; repeatable."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing but the report.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it is done, doing it here if no worker does, and print the report.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Dream: consolidate memories, extract entities, infer preferences, clean up the graph. Needs a language model.

    A worker does it (`loci serve` and `loci worker` have one). With --wait this command is a worker too, until the dream is over.
    """
    from loci.models.dreams import DreamInput

    wanted = DreamInput.model_validate({"passes": named or None, "dry_run": dry_run})
    job = run(lambda session: _dream(session, wanted.passes, namespace, dry_run=dry_run, wait=wait))
    if wants_json(context, as_json):
        print_json(job)
    elif wait:
        print_report(job)
    else:
        typer.echo(f"job {job['job_id']} {'waits' if job['created'] else 'waited already'}: a worker takes it", err=True)
    if wait and job["state"] != "succeeded":
        raise Failure(f"the dream is {job['state']}: {job['error'] or 'it says nothing more'}")


async def _dream(session: Session, passes: Any, namespace: str, *, dry_run: bool, wait: bool) -> dict[str, Any]:
    """Ask for a dream; with `wait` the job with its reports once it is over."""
    from service.dreams import ask_for_dream

    async with asking(session) as work:
        async with session.transaction(namespace, "writer") as tx:
            made = await ask_for_dream(tx, work, passes=passes, dry_run=dry_run)
        return await _done(session, work, namespace, made["job_id"]) if wait else made


async def _done(session: Session, work: "Work", namespace: str, id: UUID) -> dict[str, Any]:
    """Work at the queue until a job is over: here, or in a worker that was quicker."""
    from db import jobs
    from service.jobs.kinds import HANDLERS
    from service.jobs.runner import Runner

    running = asyncio.create_task(Runner(session.url, work, HANDLERS).run())
    try:
        while True:
            async with session.transaction(namespace) as tx:
                job = await jobs.get_job(tx, id=id)
            if job["finished_at"] is not None:
                return job
            await asyncio.sleep(LOOK_EVERY)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def print_report(job: dict[str, Any]) -> None:
    """What each pass did, which guards refused what, and how to take it back."""
    for report in job["passes"]:
        counts = {**{key: report[key] for key in ("seen", "proposed", "applied")}, "refused": len(report["refused"])}
        typer.echo(f"{report['pass']}: {report['outcome']} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})")
        lines = [_change(change) for change in report["changes"]]
        lines += [f"refused by {refusal['guard']}: {refusal['action']}: {refusal['reason']}" for refusal in report["refused"]]
        lines += [report["error"]] if report["error"] else []
        for line in lines[:SHOWN]:
            typer.echo(f"  {line}")
        if len(lines) > SHOWN:
            typer.echo(f"  … and {len(lines) - SHOWN:,} more (--json shows all)")
        if report["operation_id"]:
            typer.echo(f"  undo with: loci undo {report['operation_id']}")


def _change(change: dict[str, Any]) -> str:
    """A change in one line: what was done, to what, and what it says, where the report has that."""
    said = change.get("content")
    return f"{change['action']} {', '.join(map(str, change['ids']))}{f': {said}' if said else ''}"
