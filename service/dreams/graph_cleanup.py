"""Consolidation of the graph: which edges and entities are of no use any more.

The model chooses among what may go at all; ages are computed here, and SQL checks every guard again.
"""

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from db import dreams
from db.dreams import StaleEntity, WeakEdge
from db.pool import Transaction
from service.dreams.guards import OF_ROWS
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen
from service.dreams.utc_days import day_of
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import mark_bounded_list, mark_shown_number


class DeleteEntity(Answer):
    """An entity that should go."""

    id: Annotated[int, mark_shown_number("entities")]
    reason: Literal["stale", "disconnected", "noise"]


class DeleteEdge(Answer):
    """An edge that should go."""

    id: Annotated[int, mark_shown_number("edges")]
    reason: Literal["redundant", "low_confidence", "outdated"]


class Cleanup(Answer):
    """Proposed removals."""

    delete_entities: list[DeleteEntity] = mark_bounded_list("entities")
    delete_edges: list[DeleteEdge] = mark_bounded_list("edges")


async def _read_page(tx: Transaction, job: Job, room: Room) -> tuple[list[StaleEntity], list[WeakEdge], bool]:
    """A page of entities, weak edges of theirs and others, and whether there are more entities."""
    limit, first = int(job.settings["dream_limit"]), int(job.arguments.get("first", 0))
    found = await dreams.stale_entities(tx, limit=limit)
    entities = found[first : first + room.things]
    edges = await dreams.weak_edges(tx, entities=[row["id"] for row in entities], limit=min(limit, room.things))
    return entities, edges, first + len(entities) < len(found)


def _hash_page(entities: list[StaleEntity], edges: list[WeakEdge]) -> str | None:
    """Unchanged while nothing was written: the day and decay do not count."""
    rows = [[[str(row["id"]), row["updated_at"].isoformat()] for row in rows] for rows in (entities, edges)]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _days_since(since: datetime) -> int:
    return max((datetime.now(UTC) - since).days, 0)


def _show_entity(number: int, row: StaleEntity) -> dict[str, Any]:
    """An entity as the model reads it."""
    return {
        "id": number,
        "name": row["name"],
        "type": row["type"],
        "created": _format_date(row["created_at"]),
        "age_days": _days_since(row["created_at"]),
        "last_referenced": None,
        "mentions": row["mentions"],
        "edges": row["edges"],
    }


def _show_edge(number: int, row: WeakEdge) -> dict[str, Any]:
    """An edge as the model reads it."""
    return {
        "id": number,
        "source": row["source"],
        "predicate": row["type"],
        "target": row["target"],
        "literal": row["literal"],
        "confidence": round(row["confidence"], 2),
        "effective": round(row["effective"], 2),
        "observations": row["observations"],
        "first_observed": _format_date(row["first_observed_at"]),
        "last_observed": _format_date(row["last_observed_at"]),
        "days_since_observed": _days_since(row["last_observed_at"]),
        "valid_until": _format_date(row["valid_to"]),
        "removable": row["removable"],
    }


def _format_date(moment: datetime | None) -> str | None:
    return day_of(moment).isoformat() if moment else None


async def gather_graph(tx: Transaction, job: Job, room: Room) -> Seen:
    """Entities that nothing that counts rests on, weak edges, the edges beside these, and how many of them may go."""
    entities, edges, more = await _read_page(tx, job, room)
    allowed = await dreams.removal_allowances(tx)
    numbered = dict(enumerate(entities, 1)), dict(enumerate(edges, 1))
    data = {
        "today": datetime.now(UTC).date().isoformat(),
        "entities": [_show_entity(number, row) for number, row in numbered[0].items()],
        "edges": [_show_edge(number, row) for number, row in numbered[1].items()],
        "may_remove": {"entities": allowed["entities"], "edges": allowed["edges"]},
    }
    numbers = {"entities": numbered[0], "edges": [number for number, row in numbered[1].items() if row["removable"]]}
    removable = min(len(entities), allowed["entities"]) + min(sum(row["removable"] for row in edges), allowed["edges"])
    return Seen(
        data,
        removable,
        _hash_page(entities, edges),
        known=numbered,
        numbers=numbers,
        more=more,
        shown=max(len(entities), len(edges)),
    )


def check_cleanup(seen: Seen, answer: Cleanup, job: Job) -> Plan:
    """Proposals that refer to shown things, each thing once."""
    del job
    entities, edges = seen.known
    plan = Plan({}, len(answer.delete_entities) + len(answer.delete_edges))
    plan.steps["entities"] = _select_chosen_items(
        "entity", [(one.id, one.reason) for one in answer.delete_entities], entities, plan
    )
    plan.steps["edges"] = _select_chosen_items("edge", [(one.id, one.reason) for one in answer.delete_edges], edges, plan)
    return plan


def _select_chosen_items(
    kind: str, stated: list[tuple[int, str]], shown: dict[int, dict[str, Any]], plan: Plan
) -> list[dict[str, str]]:
    steps = []
    for number, reason in dict(reversed(stated)).items():
        if number in shown:
            row = shown[number]
            steps.append({"id": str(row["id"]), "reason": reason, "seen": row["updated_at"].isoformat()})
        else:
            plan.refused.append(Refusal("number", f"remove_{kind}", [], f"number {number} was not shown"))
    return steps


async def apply_cleanup(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Remove what the guards let go."""
    del job
    applied = Applied()
    for row in await dreams.apply_graph_cleanup(tx, plan=plan.steps):
        if row["guard"] is None:
            applied.changes.append({"action": f"remove_{row['kind']}", "ids": [str(row["id"])]})
        else:
            applied.refused.append(Refusal(row["guard"], f"remove_{row['kind']}", [str(row["id"])], OF_ROWS[row["guard"]]))
            applied.unfinished = applied.unfinished or row["guard"] == "share"
    return applied


async def hash_corpus(tx: Transaction, job: Job, room: Room) -> str | None:
    """The hash of what a look would see now."""
    entities, edges, _ = await _read_page(tx, job, room)
    return _hash_page(entities, edges)


GRAPH = Pass(
    name="graph",
    prompt="graph-consolidation-dream.md",
    answer=Cleanup,
    look=gather_graph,
    check=check_cleanup,
    apply=apply_cleanup,
    corpus=hash_corpus,
)
