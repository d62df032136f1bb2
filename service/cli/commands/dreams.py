"""`loci dream` and `loci prompt`: passes that ask a language model what to change, their reports and their prompts."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.framework import App, Failure, Namespace, tell_result, tell_rows
from service.cli.output import echo, parse_moment
from service.cli.rest import Rest, open_service

if TYPE_CHECKING:
    from service.llm.prompts import Prompts

MOMENTS = ("created_at", "due_at", "started_at", "finished_at")

prompts = App("Show the prompts that the language model is given.")


def dream(
    namespace: Namespace = None,
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--pass", metavar="NAME", help="Only this pass: memories, entities, preferences, graph or contradictions; repeatable."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing but the report.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it is done, and print the report; without LOCI_URL, do it here.")
    ] = False,
) -> None:
    """Dream: have a language model tidy up.

    Consolidates memories, extracts entities, infers preferences, cleans up the graph. A worker does it (`loci serve` and `loci
    worker` have one). With --wait, and without LOCI_URL, this command is a worker too, until the dream is over; it says on stderr
    how it goes: tries, their errors, and when the next one is.
    """
    with open_service(namespace, worker=wait) as rest:
        made = rest.post("/dream", passes=named or None, dry_run=dry_run)
        job = _wait_for_job(rest, made) if wait else made
    tell_result(job, lambda: _tell_job(job, wait=wait))
    if wait and job["state"] != "succeeded":
        raise Failure(f"the dream is {job['state']}: {job['error'] or 'it says nothing more'}")


def _tell_job(job: dict[str, Any], *, wait: bool) -> None:
    from service.dreams.progress import report_dream

    if wait:
        for line in report_dream(_parse_job_times(job)):
            echo(line)
        return
    echo(f"job {job['job_id']} {'waits' if job['created'] else 'waited already'}: a worker takes it", err=True)
    echo(f"`loci job show {job['job_id']}` says how it goes; --wait waits for it", err=True)


def _wait_for_job(rest: Rest, made: dict[str, Any]) -> dict[str, Any]:
    """Wait until a job is over, and say how it goes."""
    from service.dreams.progress import Progress

    echo(f"job {made['job_id']} {'waits' if made['created'] else 'waited already'}", err=True)
    progress = Progress(lambda line: echo(line, err=True))
    job: dict[str, Any] = rest.wait_for_job(
        made["job_id"], lambda job: progress.report_news(_parse_job_times(job), datetime.now(UTC))
    )
    return job


def _parse_job_times(job: dict[str, Any]) -> Any:
    """A job whose times are times."""
    return {**job, **{name: parse_moment(job[name]) for name in MOMENTS if job[name] is not None}}


@prompts.command("list")
def list_() -> None:
    """List the prompts, and where each comes from.

    Ours, or a file in the folder LOCI_LLM__PROMPTS.
    """
    from service.llm.prompts import NAMES

    found = _load_prompts()
    rows = [{"name": name, "from": str(found.find_own_file(name) or "loci")} for name in NAMES]
    tell_rows(rows, "name", "from")


@prompts.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="Such as dream.md.")]) -> None:
    """Print a prompt as it is in force.

    A file to begin with when you write your own.
    """
    from service.llm.prompts import NAMES, BadPrompt

    name = name if name.endswith(".md") else f"{name}.md"
    if name not in NAMES:
        raise Failure(f"there is no prompt {name}", f"Prompts are {', '.join(NAMES)}.")
    try:
        text = _load_prompts().read_prompt(name)
    except BadPrompt as error:
        raise Failure(str(error)) from None
    tell_result({"name": name, "text": text}, lambda: echo(text))


def _load_prompts() -> "Prompts":
    from service.llm.prompts import Prompts
    from service.settings import get_settings

    return Prompts(get_settings().llm.prompts)
