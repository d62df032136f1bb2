"""Contradictions on which all signals are silent: a model judges pairs of sibling facts.

It only says whether two facts contradict each other. Which is the newer, whether the older may be superseded, and how many
may be, is decided in SQL (judge_fact_pairs); each decision is a row that can be undone.
"""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from db import dreams
from db.dreams import FactPair
from db.errors import NeedsModel
from db.jobs import jobs
from db.pool import Transaction
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen, format_ids, run_pass
from service.dreams.utc_days import day_of
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import mark_bounded_list, mark_shown_number, share
from service.resources import Resources

EVIDENCE = 10  # words kept of a reason
WHY = {
    "unknown": "no pair of this number was shown",
    "twice": "the answer says both of this pair",
    "changed": "one of the two has changed, or the pair was decided, since it was shown",
    "unsure": "less confident than the setting supersession_threshold",
    "overtaken": "another fact supersedes the older one first",
}


class Verdict(Answer):
    """The model's verdict on a pair."""

    pair: Annotated[int, mark_shown_number("pairs")]
    contradicts: bool
    confidence: float = share(ge=0, le=1)
    reason: str = Field(max_length=1000, json_schema_extra={"maxLength": 200, "least": 20})


class Verdicts(Answer):
    """The model's verdicts on all pairs."""

    verdicts: list[Verdict] = mark_bounded_list("pairs", least=1, max_length=1000)


def pair_shown(row: FactPair, number: int) -> dict[str, Any]:
    """A pair as the model sees it."""
    return {
        "pair": number,
        "about": row["entity"],
        "aspect": row["aspect"],
        **({"one_at_a_time": True} if row["single_valued"] else {}),
        "older": {"statement": row["older"], **_show_times(row["older_from"], row["older_to"])},
        "newer": {"statement": row["newer"], **_show_times(row["newer_from"], row["newer_to"])},
    }


def _show_times(since: datetime, until: datetime | None) -> dict[str, str]:
    times = {"since": day_of(since).isoformat()}
    return times if until is None else {**times, "until": day_of(until).isoformat()}


async def gather_pairs(tx: Transaction, job: Job, room: Room) -> Seen:  # noqa: ARG001
    """The next pairs."""
    rows = (await dreams.pairs_to_judge(tx))[: room.things]  # the rest is another job's
    known = dict(enumerate(rows, 1))
    return Seen(
        data={"pairs": [pair_shown(row, number) for number, row in known.items()]},
        count=len(rows),
        known=known,
        shown=len(rows),
        numbers={"pairs": known},
    )


def check_verdicts(seen: Seen, answer: Verdicts, job: Job) -> Plan:  # noqa: ARG001
    """One verdict a pair that was shown. A pair that the answer leaves out, or says both of, counts as not answered."""
    given: dict[int, list[Verdict]] = {}
    refused = []
    for verdict in answer.verdicts:
        given.setdefault(verdict.pair, []).append(verdict)
    for number, said in given.items():
        guard = "unknown" if number not in seen.known else "twice" if len({verdict.contradicts for verdict in said}) > 1 else None
        if guard is not None and any(verdict.contradicts for verdict in said):
            pair = seen.known.get(number)
            refused.append(
                Refusal(guard, "supersede", format_ids([pair["older_id"], pair["newer_id"]]) if pair else [], WHY[guard])
            )
    steps = [_make_step(pair, given.get(number, [])) for number, pair in seen.known.items()]
    return Plan(steps, len(refused) + sum(step["contradicts"] is True for step in steps), refused)


def _make_step(pair: FactPair, said: list[Verdict]) -> dict[str, Any]:
    """The record of a pair; of several verdicts that agree, the least confident."""
    agreed = len({verdict.contradicts for verdict in said}) == 1
    verdict = min(said, key=lambda v: v.confidence) if agreed else None
    return {
        "older_id": str(pair["older_id"]),
        "newer_id": str(pair["newer_id"]),
        "contradicts": verdict and verdict.contradicts,
        "confidence": verdict and verdict.confidence,
        "evidence": _quote_evidence(pair, verdict.reason) if verdict else [],
    }


def _quote_evidence(pair: FactPair, reason: str) -> list[str]:
    """Words of the reason that one of the two statements has: nothing else that a model says is kept."""
    there = {word.casefold(): word for word in re.findall(r"\w+", pair["older"] + " " + pair["newer"])}
    words = dict.fromkeys(word.casefold() for word in re.findall(r"\w+", reason))
    return [there[word] for word in words if word in there][:EVIDENCE]


async def apply_verdicts(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Record the verdicts, and supersede or propose what may be."""
    rows = await dreams.apply_contradiction_verdicts(tx, verdicts=plan.steps)
    refused = [
        Refusal(row["guard"], "supersede", format_ids([row["older_id"], row["newer_id"]]), WHY[row["guard"]])
        for row in rows
        if row["guard"] is not None
    ]
    changes: list[dict[str, Any]] = [
        {
            "action": "supersede" if row["status"] == "applied" else "propose",
            "ids": [str(row["supersession_id"])],
            **({"guard": row["held"]} if row["held"] else {}),
        }
        for row in rows
        if row["guard"] is None
    ]
    held = sum(change.get("guard") == "breaker" for change in changes)
    if not held:
        return Applied(changes, refused)
    share = job.settings["dream_removed_share"]
    why = f"{held} facts would be superseded, with those of the last day more than dream_removed_share ({share:g}) allows"
    stopped = [Refusal("breaker", "supersede", change["ids"], "it was proposed instead") for change in changes]
    return Applied([], [*refused, *stopped], f"{why}: they are proposed, and none is superseded")


CONTRADICTIONS = Pass("contradictions", "contradictions.md", Verdicts, gather_pairs, check_verdicts, apply_verdicts)


async def judge_contradictions(resources: Resources, job: Job) -> None:
    """Run the pass for a job that facts have left behind; what does not fit into one question is another job's."""
    done = None
    if job.settings["supersession_model"] != "off":
        if resources.model is None:
            raise NeedsModel
        done = await run_pass(resources, job, CONTRADICTIONS, dry_run=job.arguments.get("dry_run", False))
    async with job.hold_alone(resources, "contradictions") as tx:
        await jobs.finish_job(tx, id=job.id, result={"contradictions": done.outcome if done else "off"})
