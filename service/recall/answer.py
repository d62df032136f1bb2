"""From a ranking to an answer: the memories and their explanations."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from db.models.memory_pieces import send_memory_pieces
from db.pool import JsonObject, ServerKind, Transaction
from db.recall import search
from service.observability.metrics import PHASE_SECONDS
from service.recall.log import log_recall, ranks_by_arm
from service.recall.ranking import Ranking, note_hits
from service.recall.score_plan import Fused, Plan
from service.recall.sources import by_place, pack_hit, unpack_hit
from service.recall.timing import milliseconds_since
from service.rerank.piece_store import Kept

STANDINGS = {
    "about": "about whom the question names",
    "own": "said in the first person by the one who asks",
    "foreign": "said in the first person by another than the one who asks",
    "role": "the question asks for the other role of whom it names",
    "namesake": "about another name of the same stem",
}
SAID = {"recall_id", "reranked", "rewritten"}  # fields of an answer that are left out where there is nothing to say


@dataclass
class Answer:
    """Results of a recall, constraints that hold whatever was found, and what did not take part.

    `server`: the kind of server that ranked. `waiting`: memories whose vectors were not made yet. `relevance`: of the best memory
    found, shown or left out; None: none was. `left_out`: results below the relevance asked for. `recall_id`: if it was logged.
    `reranked`: by whom, and how many results; `rewritten`: how, and with how many further questions.
    """

    results: list[JsonObject]
    constraints: list[JsonObject]
    entities: list[JsonObject]
    skipped: dict[str, str]
    took_ms: float
    server: ServerKind
    waiting: int = 0
    relevance: float | None = None
    left_out: int = 0
    recall_id: UUID | None = None
    reranked: JsonObject | None = None
    rewritten: JsonObject | None = None

    def to_reply(self) -> JsonObject:
        """The answer as it is sent."""
        return {name: value for name, value in vars(self).items() if name not in SAID or value is not None}


@dataclass(frozen=True)
class Pending:
    """A recall whose memories are on their way: a cursor for each namespace that has some, by its place.

    `pieces`: the same of what a reranker has read of them.
    """

    ranking: Ranking
    rows: list[tuple[int, Any]]
    sent: float
    pieces: list[tuple[int, Any]] = field(default_factory=list)

    @classmethod
    async def send_query(cls, ranking: Ranking, beside: Iterable[int] = (), keeps: str | None = None) -> "Pending":
        """Send for the memories, and for others that a reranker reads `beside` them, without waiting.

        `keeps`: the model of whom what it has read of them is sent for, too.
        """
        sent = time.perf_counter()
        scope, sources = ranking.plan.question.scope, ranking.asked.sources
        asked = by_place([*ranking.best, *beside]).items()
        rows = [
            (place, await search.send_recalled_memories(sources[place].tx, documents=documents, scope=scope))
            for place, documents in asked
        ]
        pieces = [
            (place, await send_memory_pieces(sources[place].tx, documents=documents, model=keeps))
            for place, documents in asked
            if keeps is not None
        ]
        return cls(ranking, rows, sent, pieces)

    async def read_pieces(self) -> dict[int, Kept]:
        """Fetch what a reranker has read, by hit; also after the transaction."""
        return {
            pack_hit(place, "memory", row["doc_id"]): Kept(row["text_hash"], row["pieces"])
            for place, cursor in self.pieces
            for row in await cursor.all()
        }

    async def read_rows(self) -> dict[int, JsonObject]:
        """Fetch the memories, also after the transaction: a row for each hit that is still there."""
        found = dict(self.ranking.asked.rows)
        for place, cursor in self.rows:
            name = self.ranking.asked.sources[place].name
            for row in await cursor.all():
                key = pack_hit(place, "memory", row.pop("cursor"))
                if row["contradicts"] is None:
                    del row["contradicts"]
                found[key] = {"tier": "memory", "namespace": name, **row}
        PHASE_SECONDS.labels("fetch").observe(time.perf_counter() - self.sent)
        return found


async def note_recall(tx: Transaction | None, ranking: Ranking) -> UUID | None:
    """Note what the session found by words again, and log the recall, without waiting; its id in the log, if it is logged.

    `tx`: another transaction than the one in which it was ranked; None: the same.
    """
    if tx is not None:
        ranking = ranking.rebind_to(tx)
    await note_hits(ranking)
    return await log_recall(ranking)


def answer_of(ranking: Ranking, found: dict[int, JsonObject], recall_id: UUID | None) -> Answer:
    """The answer that a ranking and its memories make."""
    return Answer(
        [_make_result(ranking, key, found[key]) for key in ranking.best if key in found],
        ranking.found.constraints,
        ranking.found.entities,
        ranking.skipped,
        milliseconds_since(ranking.started),
        ranking.server_kind,
        ranking.found.waits,
        max(ranking.relevance.values(), default=None),
        ranking.left_out,
        recall_id,
    )


def _make_result(ranking: Ranking, key: int, row: JsonObject) -> JsonObject:
    """A memory, entry or turn with its score, and with `explain` what that is made of."""
    row["score"] = ranking.score_of(key)
    row["relevance"] = ranking.relevance.get(key)
    if ranking.plan.question.explain:
        row["explain"] = explain_parts(ranking, key)
        if others := row.get("contradicts"):
            row["explain"]["because"] += f"; may contradict {', '.join(map(str, others))}: not settled yet"
    return row


def explain_parts(ranking: Ranking, key: int) -> JsonObject:
    """Parts of a score: each arm's with its rank, score, weight and path; the subject and speaker; what neighbours lent.

    `waited`: its vector was not stored yet; its place in the vector arm is that of one made with the question, or of its words.
    """
    plan, fused, arms = ranking.plan, ranking.fused, ranks_by_arm(ranking, key)
    for name, arm in arms.items():
        arm["part"] = fused.parts[name].get(key)
        arm["weight"] = None if plan.uses_relative_scores else plan.arm_weight(name)
        arm["path"] = ranking.arms[name].paths.get(key)
    shown: JsonObject = {
        "because": explain_score(plan, fused, key),
        "fusion": plan.fusion,
        "rrf_k": plan.k if plan.fusion == "rrf" else None,
        "added": fused.added.get(key, 0.0),
        "lent": fused.lent.get(key, 0.0),
        "factor": fused.factors.get(key, 1.0),
        "standing": fused.standings.get(key),
        "arms": arms,
    }
    if plan.question_period is not None:
        period = plan.question_period
        shown["time"] = {"said": period.said, "from": period.start, "to": period.end, "nearness": fused.times.get(key, 0.0)}
    shown |= ranking.notes.get(key, {})
    if (moved := shown.get("succession")) is not None:
        place = (
            f"{moved['place']} of {moved['of']} that tell the same, the latest first" if "of" in moved else "behind what tells it"
        )
        shown["because"] += f"; ranked by {ranking.score_of(key):.3g}: {place}"
    if (evidence := fused.evidence.get(unpack_hit(key)[0])) is not None and key in ranking.relevance:
        shown["relevance"] = evidence.to_explanation() | {"share": ranking.relevance[key] / evidence.answer_likelihood}
    return {**shown, "waited": True} if key in ranking.found.waited else shown


def explain_score(plan: Plan, fused: Fused, key: int) -> str:
    """One line that says what a score is made of."""
    parts = [f"{name} {part[key]:.3g}" for name, part in fused.parts.items() if key in part]
    if plan.uses_relative_scores:
        return f"{fused.scores[key]:.3g} = mean of {', '.join(parts)}"
    near = fused.times.get(key, 0.0)
    if stands := fused.added.get(key, 0.0) - plan.time_part(near):
        parts.append(f"whose it is {stands:.3g}")
    if then := plan.time_part(near):
        parts.append(f"when it was {then:.3g}")
    if given := fused.lent.get(key):
        parts.append(f"neighbours {given:.3g}")
    sum_, factor = " + ".join(parts) or "0", fused.factors.get(key, 1.0)
    if factor == 1.0:
        return f"{fused.scores[key]:.3g} = {sum_}"
    reasons = [STANDINGS.get(fused.standings.get(key, ""), f"said by {fused.sources.get(key)}")]
    if key in fused.times:
        reasons = [*(reasons if factor != plan.time_factor(near) else []), "when it was"]
    return f"{fused.scores[key]:.3g} = ({sum_}) × {factor:g} ({' and '.join(reasons)})"
