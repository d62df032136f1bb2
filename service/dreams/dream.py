"""A dream: the passes of a namespace, one after the other, in one job."""

import logging
from typing import Any

from db import dreams
from db.errors import NeedsModel
from db.jobs import jobs
from db.pool import Transaction
from service.dreams.consolidation import MEMORIES
from service.dreams.contradictions import CONTRADICTIONS
from service.dreams.extraction import ENTITIES
from service.dreams.graph_cleanup import GRAPH
from service.dreams.passes import Pass, Report, record_report, run_pass
from service.dreams.preferences import PREFERENCES
from service.jobs.job import Job, Postponed
from service.llm.model import ModelError
from service.observability.logs import described_error
from service.resources import Resources

log = logging.getLogger(__name__)
# In the order in which they run: entities and preferences read the log of conversations, and graph sees new entities.
PASSES: dict[str, Pass[Any]] = {made.name: made for made in (MEMORIES, ENTITIES, PREFERENCES, GRAPH, CONTRADICTIONS)}
READERS = ("entities", "preferences")  # those that read the log of conversations


class PassesFailed(ModelError):
    """Passes of a dream that failed; the others have run. `failed`: why, by name."""

    def __init__(self, failed: dict[str, Exception]) -> None:
        waits = [wait for error in failed.values() if (wait := getattr(error, "retry_after", None)) is not None]
        super().__init__(
            "; ".join(f"{name}: {described_error(error)}" for name, error in failed.items()),
            retry_after=max(waits, default=None),
            final=all(getattr(error, "final", False) for error in failed.values()),
        )
        self.failed = failed


async def run_dream(resources: Resources, job: Job) -> None:
    """Run the passes that the job asks for and the namespace wants. A pass that has run before is not run again.

    A pass that fails keeps no other from running; the job is tried again for it. Raises PassesFailed, NeedsModel, Later.
    """
    if resources.model is None:
        raise NeedsModel
    await _postpone_while_busy(resources, job)
    failed: dict[str, Exception] = {}
    for name in wanted_passes(job):
        try:
            await run_pass(resources, job, PASSES[name], dry_run=is_dry(job))
        except (Postponed, jobs.JobOver):
            raise
        except Exception as error:
            if not isinstance(error, ModelError):
                log.exception("job %s: the pass %s failed", job.id, name)
            failed[name] = error
    if failed:
        if job.failures + 1 >= resources.settings.jobs.attempts:
            failed = await _give_up(resources, job, failed)
        raise PassesFailed(failed)
    async with job.hold_alone(resources, "dream") as tx:
        await _read_on(tx, job)
        await jobs.finish_job(tx, id=job.id, result=_summarise_reports(await dreams.list_passes(tx, job_id=job.id)))


def wanted_passes(job: Job) -> list[str]:
    """Names of the passes to run, in order: those that were asked for, else those that the namespace has not switched off."""
    asked = job.arguments.get("passes")
    return [name for name in PASSES if (name in asked if asked else _is_on(name, job.settings))]


def _is_on(name: str, settings: dict[str, Any]) -> bool:
    return bool(settings["supersession_model"] != "off" if name == "contradictions" else settings[f"dream_{name}"])


def is_dry(job: Job) -> bool:
    """Whether nothing is to be changed."""
    return bool(job.arguments.get("dry_run"))


async def _postpone_while_busy(resources: Resources, job: Job) -> None:
    """Put a scheduled dream off while somebody is at work."""
    async with job.hold_alone(resources, "dream") as tx:
        if job.arguments.get("scheduled") and (busy := await dreams.namespace_activity(tx)):
            raise Postponed(f"the namespace is busy: {busy}")


async def _read_on(tx: Transaction, job: Job) -> None:
    """If a pass was not shown everything, another dream for it follows this one.

    Turns that were read are no longer in the log; the other passes go on behind the things that they were shown.
    """
    runs = {name: await dreams.last_pass(tx, name=name, job_id=job.id) for name in wanted_passes(job)}
    log = [name for name, run in runs.items() if run["more"] and name in READERS]
    if log and not is_dry(job):
        arguments = {**job.arguments, "passes": log}
        await jobs.enqueue_job(tx, kind="dream", arguments=arguments, key="log", turn="dream")
    for name, run in runs.items():
        if run["more"] and name not in READERS and not is_dry(job):
            first = int(job.arguments.get("first", 0)) + run["shown"]
            arguments = {**job.arguments, "passes": [name], "first": first}
            await jobs.enqueue_job(tx, kind="dream", arguments=arguments, key=f"{name} {first}", turn="dream")


async def _give_up(resources: Resources, job: Job, failed: dict[str, Exception]) -> dict[str, Exception]:
    """Report the passes that failed for good; those for which the job is over. One that waits for the operator is not given up."""
    waiting = {name: error for name, error in failed.items() if getattr(error, "final", False)}
    for name, error in failed.items():
        if name not in waiting:
            await record_report(resources, job, name, Report(outcome="failed", error=described_error(error)))
    return waiting or failed


def _summarise_reports(reports: list[dreams.PassRow]) -> dict[str, Any]:
    """Result of the job: of each pass, in the order in which they ran."""
    return {
        row["pass"]: {
            "outcome": row["outcome"],
            "seen": row["seen"],
            "proposed": row["proposed"],
            "applied": row["applied"],
            "refused": len(row["refused"]),
        }
        for row in reversed(reports)
    }
