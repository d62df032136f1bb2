"""`loci dream` and `loci prompts`: passes that ask a language model what to change, their reports and their prompts."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, cast
from uuid import UUID

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import Session, open_resources, run
from service.cli.shell import Commands, Failure, Json, Namespace, wants_json

if TYPE_CHECKING:
    from db.jobs.jobs import JobDetail
    from service.llm.prompts import Prompts
    from service.resources import Resources

LOOK_EVERY = 0.2  # seconds between looks at a job that is waited for

prompts = typer.Typer(cls=Commands, no_args_is_help=True, help="Show the prompts that the language model is given.")


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

    A worker does it (`loci serve` and `loci worker` have one). With --wait this command is a worker too, until the dream is over,
    and says on stderr how it goes: tries, their errors, and when the next one is.
    """
    from loci.models.dreams import DreamInput
    from service.dreams.progress import report

    wanted = DreamInput.model_validate({"passes": named or None, "dry_run": dry_run})
    job = run(lambda session: _dream(session, wanted.passes, namespace, dry_run=dry_run, wait=wait))
    if wants_json(context, as_json):
        print_json(job)
    elif wait:
        for line in report(cast("JobDetail", job)):
            echo(line)
    else:
        echo(f"job {job['job_id']} {'waits' if job['created'] else 'waited already'}: a worker takes it", err=True)
        echo(f"`loci jobs show {job['job_id']}` says how it goes; --wait does it here", err=True)
    if wait and job["state"] != "succeeded":
        raise Failure(f"the dream is {job['state']}: {job['error'] or 'it says nothing more'}")


async def _dream(session: Session, passes: Any, namespace: str, *, dry_run: bool, wait: bool) -> dict[str, Any]:
    """Ask for a dream; with `wait` the job with its reports once it is over."""
    from service.dreams.request import request_dream

    async with open_resources(session) as work:
        async with session.transaction(namespace, "writer") as tx:
            made = await request_dream(tx, work, passes=passes, dry_run=dry_run)
        if not wait:
            return dict(made)
        echo(f"job {made['job_id']} {'waits' if made['created'] else 'waited already'}", err=True)
        return dict(await _done(session, work, namespace, made["job_id"]))


async def _done(session: Session, resources: "Resources", namespace: str, id: UUID) -> "JobDetail":
    """Work at the queue until a job is over, here or in a worker that was quicker, and say how it goes."""
    from service.dreams.progress import Progress
    from service.jobs.jobs import get_job
    from service.jobs.runner import Runner
    from service.supervision import Supervisor
    from service.worker.handlers import HANDLERS

    background = Supervisor()
    background.start("jobs", Runner(session.url, resources, HANDLERS).run)
    progress = Progress(lambda line: echo(line, err=True))
    try:
        while True:
            async with session.transaction(namespace) as tx:
                job = await get_job(tx, id=id)
            progress.look(job, datetime.now(UTC))
            if job["finished_at"] is not None:
                return job
            await asyncio.sleep(LOOK_EVERY)
    finally:
        await background.close()


@prompts.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the prompts and where each comes from: ours, or a file in the folder LOCI_LLM__PROMPTS."""
    from service.llm.prompts import NAMES

    found = _prompts()
    rows = [{"name": name, "from": str(found.own(name) or "loci")} for name in NAMES]
    if wants_json(context, as_json):
        print_json(rows)
    else:
        print_table(("name", "from"), [row.values() for row in rows])  # type: ignore[misc]


@prompts.command()
def show(name: Annotated[str, typer.Argument(help="Such as dream.md.")]) -> None:
    """Print a prompt as it is in force: a file to begin with when you write your own."""
    from service.llm.prompts import NAMES, BadPrompt

    name = name if name.endswith(".md") else f"{name}.md"
    if name not in NAMES:
        raise Failure(f"there is no prompt {name}", f"Prompts are {', '.join(NAMES)}.")
    try:
        echo(_prompts().read(name))
    except BadPrompt as error:
        raise Failure(str(error)) from None


def _prompts() -> "Prompts":
    from service.llm.prompts import Prompts
    from service.settings import get_settings

    return Prompts(get_settings().llm.prompts)
