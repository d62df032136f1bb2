"""How every pass runs: look, ask, check, apply, report.

The model is asked outside any transaction; what it says is only a proposal.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from db import dreams, text
from db.pool import Transaction
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.model import InvalidAnswer, TooLong
from service.llm.schemas import Numbers
from service.models.calls import ask_model, part_that_fits
from service.resources import Resources
from service.text.marks import Read, Readings, with_readings
from service.uuid7 import uuid7

A = TypeVar("A", bound=Answer)
Outcome = Literal["applied", "unchanged", "planned", "stopped", "failed"]
SHORTEST = 200  # characters to which a text may be cut
SIZES = 10  # pages that are tried until one fits
MOST_REFUSED = 1000  # refusals that a report holds; how many more there were is the last of them


@dataclass(frozen=True)
class Refusal:
    """A refused change, and the guard that refused it."""

    guard: str
    action: str
    ids: list[str]
    reason: str


@dataclass(frozen=True)
class Seen:
    """The data for the model: `data` for its prompt, how many things that are, and the hash of it all (None: no gate).

    `known` is what the checks compare the answer with, and `read` how they read a text; neither is shown. `turns` and `episodes`
    are those among it, which the pass has read once it has its report; `more`: there is more for it that did not
    fit. `shown`: how many things `Room` counts. `numbers`: those that the answer may name.
    """

    data: Any
    count: int
    corpus: str | None = None
    known: Any = None
    read: Read = field(default_factory=Readings)
    turns: list[int] = field(default_factory=list)
    episodes: list[UUID] = field(default_factory=list)
    more: bool = False
    shown: int = 0
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """Limits of a look: so many things, and so many characters of each."""

    things: int = 1_000_000
    characters: int = 20_000

    def shrink_room(self, shown: int, part: float) -> "Room":
        """Room for that part of what was shown. Raises TooLong where less is of no use."""
        if shown > 1:
            return Room(max(1, min(shown - 1, int(shown * part * 0.9))), self.characters)
        if self.characters <= SHORTEST:
            raise TooLong("one item alone is longer than the model's context: raise LOCI_LLM__CONTEXT")
        return Room(1, max(SHORTEST, min(4000, self.characters) // 2))


@dataclass
class Plan:
    """Proposals that stand up to the checks: `steps` for the applier, how many changes were proposed, and what was refused."""

    steps: Any
    proposed: int
    refused: list[Refusal] = field(default_factory=list)


@dataclass
class Applied:
    """Changes as [{action, ids, …}]; `stopped`: why nothing was changed; `unfinished`: the next run has more of it to do."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    stopped: str | None = None
    unfinished: bool = False


@dataclass(frozen=True)
class Pass(Generic[A]):
    """A pass.

    `look(tx, job, room)` reads what the model is shown; `check(seen, answer, job)` is pure and decides what of the answer may be
    applied; `apply(tx, job, plan)` applies it in one transaction, through SQL that checks again what rows say; `corpus(tx, job,
    room)` is the hash of what a look would see now, None where the gate does not apply.
    """

    name: str
    prompt: str
    answer: type[A]
    look: Callable[[Transaction, Job, Room], Awaitable[Seen]]
    check: Callable[[Seen, A, Job], Plan]
    apply: Callable[[Transaction, Job, Plan], Awaitable[Applied]]
    corpus: Callable[[Transaction, Job, Room], Awaitable[str | None]] | None = None


@dataclass
class Report:
    """Report of a pass: columns of pass_runs."""

    outcome: Outcome = "unchanged"
    operation_id: str | None = None
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    seen: int = 0
    proposed: int = 0
    applied: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    corpus: str | None = None
    error: str | None = None
    more: bool = False
    shown: int = 0


async def run_pass(resources: Resources, job: Job, made: Pass[A], *, dry_run: bool = False) -> Report | None:
    """Run a pass for a job, once; None: the job had run it before. Raises what asking raises, and then nothing has changed."""
    report = Report()
    if resources.model is not None:
        await resources.model.measure()  # the endpoint is asked before a transaction is open
    for last in (*[False] * SIZES, True):
        async with resources.transaction(f"dream_{made.name}", job.namespace, "admin") as tx:
            before = await dreams.last_pass(tx, name=made.name, job_id=job.id)
            if before["done"]:
                return None
            seen, room = await _gather_page(resources, tx, made, job)
            seen = replace(seen, corpus=_stamp_corpus(resources, made, seen.corpus))
        report.seen, report.more, report.shown = seen.count, seen.more, seen.shown
        if not seen.count or (seen.corpus is not None and seen.corpus in before["corpora"]):
            report.corpus = seen.corpus
            await record_report(resources, job, made.name, report, seen)
            return report
        try:
            answer = await _ask_model(resources, job, made, seen, dry_run=dry_run)
            break
        except TooLong:  # it is known better now how much fits
            if last:
                raise

    async def ask_texts(some: list[str]) -> list[text.TextMarks]:
        async with resources.transaction(f"dream_{made.name}", job.namespace, "admin") as tx:
            return await text.text_marks(tx, texts=some)

    plan = await with_readings(ask_texts, lambda read: made.check(replace(seen, read=read), answer, job))
    report.proposed = plan.proposed
    await _apply_and_report(resources, job, made, seen, plan, report, room=room, dry_run=dry_run)
    return report


async def _gather_page(resources: Resources, tx: Transaction, made: Pass[A], job: Job) -> tuple[Seen, Room]:
    """As much as the model can be shown at once; half as much after each failure of the job."""
    room = Room()
    seen = await made.look(tx, job, room)
    if job.failures and seen.shown > 1 and not (seen.turns or seen.episodes):  # of these the database shows less
        room = Room(max(1, seen.shown >> job.failures))
        seen = await made.look(tx, job, room)
    while seen.count:
        part = await part_that_fits(resources, made.answer, prompt=made.prompt, data=seen.data, numbers=seen.numbers)
        if part >= 1:
            break
        room = room.shrink_room(seen.shown, part)
        seen = await made.look(tx, job, room)
    return seen, room


async def _ask_model(resources: Resources, job: Job, made: Pass[A], seen: Seen, *, dry_run: bool) -> A:
    """The model's answer. An unreadable answer counts for the turns and episodes that it was about."""
    try:
        return await ask_model(
            resources,
            made.answer,
            namespace=job.namespace,
            purpose=made.name,
            prompt=made.prompt,
            data=seen.data,
            numbers=seen.numbers,
            job_id=job.id,
            failures=job.failures,
        )
    except InvalidAnswer:
        if not dry_run and (seen.turns or seen.episodes):
            async with job.hold_alone(resources, f"dream_{made.name}") as tx:
                await dreams.record_failed_read(tx, turns=seen.turns, episodes=seen.episodes)
        raise


async def _apply_and_report(
    resources: Resources, job: Job, made: Pass[A], seen: Seen, plan: Plan, report: Report, *, room: Room, dry_run: bool
) -> None:
    """Apply and report in one transaction; a dry run takes back what it applied, and keeps the report.

    Writes while the model thought were not seen: then no hash is left, and the next run asks again; as it does where more was to be
    done than one pass may do.
    """
    operation = str(uuid7())
    async with job.hold_alone(resources, f"dream_{made.name}", operation_id=operation) as tx:
        unseen = made.corpus is None or _stamp_corpus(resources, made, await made.corpus(tx, job, room)) != seen.corpus
        async with tx.savepoint(undo=dry_run):
            applied = await made.apply(tx, job, plan)
        report.refused = [asdict(refusal) for refusal in shorten_refusals([*plan.refused, *applied.refused])]
        report.changes = applied.changes
        report.applied = len(applied.changes)
        report.error = applied.stopped
        report.outcome = "stopped" if applied.stopped else "planned" if dry_run else "applied"
        report.operation_id = operation if report.outcome == "applied" and applied.changes else None
        shifted = seen.more and report.applied  # what moves up into its page was not seen
        if made.corpus is not None and not unseen and not applied.unfinished and not shifted and report.outcome == "applied":
            report.corpus = _stamp_corpus(resources, made, await made.corpus(tx, job, room))
        await _record_report(tx, job, made.name, report, seen)


async def record_report(resources: Resources, job: Job, name: str, report: Report, seen: Seen | None = None) -> None:
    """Write the report of a pass that changed nothing; `seen`: what it has read."""
    async with job.hold_alone(resources, f"dream_{name}") as tx:
        await _record_report(tx, job, name, report, seen or Seen(None, 0))


async def _record_report(tx: Transaction, job: Job, name: str, report: Report, seen: Seen) -> None:
    await dreams.record_pass(tx, job_id=job.id, name=name, report=asdict(report), turns=seen.turns, episodes=seen.episodes)


def shorten_refusals(refused: list[Refusal]) -> list[Refusal]:
    """As many refusals as a report holds: a model can propose tens of thousands of things."""
    if len(refused) <= MOST_REFUSED:
        return refused
    kept = refused[: MOST_REFUSED - 1]
    return [*kept, Refusal("more", "", [], f"{len(refused) - len(kept):,} more were refused")]


def hash_of(data: Any) -> str:
    """The hash of what a model would be shown."""
    return sha256(json.dumps(data, ensure_ascii=False, sort_keys=True, default=str).encode()).hexdigest()


def _stamp_corpus(resources: Resources, made: Pass[A], corpus: str | None) -> str | None:
    """A corpus together with what reads it: another prompt or another model is worth another call."""
    if corpus is None or resources.model is None:
        return corpus
    return hash_of([corpus, resources.model.name, resources.prompts.read_prompt(made.prompt)])


def format_ids(values: list[UUID]) -> list[str]:
    """Ids as a report has them."""
    return [str(value) for value in values]
