"""The second opinion: what a second embedding model finds, beside the first, where one is configured.

Its vector of the question is made while the arms are asked. Where that is late, or the endpoint fails, or too many memories have no
vector of it, the recall is that of the first model alone. A memory that waits for its second vector counts as the first model says.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from db.pool import Transaction
from db.recall.search import Embedded, Hits
from db.recall.second_arm import SecondArmRow, send_second_arm
from service.embedding.active_model import ActiveModel, ActiveProvider, embed_question, embed_words
from service.embedding.provider import Provider, Words
from service.embedding.second_model import SecondModel
from service.recall.fusion import order_by_score
from service.recall.question import Question, text_to_embed
from service.recall.score_plan import Plan
from service.recall.sources import Asked, by_place, hits_at_place, pack_hit
from service.recall.timing import count_arm_seconds, time_phase
from service.settings import EmbeddingSettings

ARM = "second"
BESIDE = 1.25  # a model of whole texts weighs so much more than one of words beside it: docs/design/models.md
NOTHING = Hits({}, {})
INCOMPLETE = "too many memories have no vector of the second model yet"


@dataclass(frozen=True)
class Opinion:
    """A second model, and its vector of the question on its way, with the reason where there will be none."""

    model: SecondModel
    number: int
    made: "asyncio.Task[tuple[Embedded | None, str | None]]"

    @property
    def weight(self) -> float:
        """Times the weight of the first model's arm, whichever of the two is first."""
        return self.model.provider.weight * (1 / BESIDE if self.model.settings.provider == "static" else BESIDE)

    async def join(self, plan: Plan, asked: Asked, skipped: dict[str, str]) -> None:
        """Add what it finds to the arms, and its weight beside that of meaning."""
        try:
            async with asyncio.timeout(self.model.settings.query_timeout):
                with time_phase("embed"):
                    embedding, reason = await self.made
        except TimeoutError:
            embedding, reason = None, f"the second model made no vector within {self.model.settings.query_timeout:g} s"
        if embedding is not None:
            with time_phase("arms"):
                rows = await self._ask(asked, plan.question, embedding)
            hits, mean, reason = self._hits(plan, asked, rows)
            if hits.scores:
                asked.found.arms[ARM] = shares_of(plan, asked, hits, mean, rows)
                plan.weights.setdefault(ARM, self.weight * plan.arm_weight("vector"))
        if reason is not None:
            skipped[ARM] = reason

    async def _ask(self, asked: Asked, question: Question, embedding: Embedded) -> dict[int, SecondArmRow | None]:
        """What it found, by the place of each namespace that has given anything: one round trip.

        Where the first model found nothing, because its endpoint is dead, every namespace is asked.
        """
        given = by_place([key for hits in asked.found.arms.values() for key in hits.scores])
        places = given if asked.found.arms.get("vector", NOTHING).scores else range(len(asked.sources))
        sent = [
            (place, await send_second_arm(asked.sources[place].tx, model=self.number, embedding=embedding, scope=question.scope))
            for place in sorted(places)
        ]
        return {place: next(iter(await cursor.all()), None) for place, cursor in sent}

    def _hits(self, plan: Plan, asked: Asked, rows: Mapping[int, SecondArmRow | None]) -> tuple[Hits, dict[int, float], str | None]:
        """Cosines over all namespaces, best first, and the mean of each; the reason where a namespace has none."""
        scores: dict[int, float] = {}
        means: dict[int, float] = {}
        known = {key for hits in asked.found.arms.values() for key in hits.scores}
        for place, row in rows.items():
            if row is None:
                continue
            count_arm_seconds({ARM: row["took_ms"] / 1000})
            there = hits_at_place(Hits(dict(zip(row["ids"] or [], row["scores"] or [], strict=True)), {}), place).scores
            # below a cosine of the first model nothing comes in that no other arm found
            scores |= there if plan.question.similarity is None else {key: there[key] for key in there if key in known}
            if row["mean"] is not None:
                means[place] = row["mean"]
        best = {key: scores[key] for key in order_by_score(scores)[: int(plan.settings["depth"])]}
        return Hits(best, {}), means, INCOMPLETE if None in rows.values() else None


def shares_of(plan: Plan, asked: Asked, hits: Hits, mean: Mapping[int, float], rows: Mapping[int, SecondArmRow | None]) -> Hits:
    """Its scores as they are added, 0 to 1; of a memory that it has no vector of, the first model's."""
    shares = plan.normalise_arm("vector", hits, mean, {})
    first = plan.normalise_arm("vector", asked.found.arms.get("vector", NOTHING), asked.found.mean, {})
    lacking = {pack_hit(place, "memory", 0) | number for place, row in rows.items() if row is not None for number in row["missing"]}
    lacking |= {key for key in first if rows.get(_place(key)) is None}
    shares |= {key: first[key] for key in lacking if key in first}
    return Hits({key: shares[key] for key in order_by_score(shares)}, {})


def _place(key: int) -> int:
    return next(iter(by_place([key])), 0)


@asynccontextmanager
async def second_opinion(tx: Transaction, question: Question, provider: Provider | None) -> AsyncIterator[Opinion | None]:
    """Begin to embed a question with the second model; None where none serves. A vector that comes too late is given up."""
    second = provider.second if isinstance(provider, ActiveProvider) else None
    serving = second.serving if second is not None else None
    if second is None or serving is None or "vector" not in question.arms or question.weights.get(ARM) == 0:
        yield None
        return
    used = ActiveModel(serving["id"], second.provider, None, serving["dimensions"])
    words = await embed_words(question.query, used, second.settings)
    text = "" if words is not None else await text_to_embed(tx, question)
    made = asyncio.create_task(_embedded(words, text, used, second.settings))
    try:
        yield Opinion(second, serving["id"], made)
    finally:
        made.cancel()


async def _embedded(
    words: Words | None, text: str, used: ActiveModel, settings: EmbeddingSettings
) -> tuple[Embedded | None, str | None]:
    return (words, None) if words is not None else await embed_question(text, used, settings)
