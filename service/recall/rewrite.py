"""Further questions that a language model makes of one: its parts, or an answer that it makes up (HyDE, Gao et al., ACL 2023).

Each is searched like the question itself, and their rankings are fused. The model's text is data: it is cut, never shown as a
memory, and stands only in explanations.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from db.pool import Transaction
from db.recall import search
from service.embedding.provider import Provider
from service.jobs.job import Postponed
from service.llm.answer_parsing import Answer
from service.llm.model import ModelError
from service.llm.prompts import BadPrompt
from service.llm.schemas import at_most, text_of
from service.models.calls import ask_model
from service.recall.fusion import normalise_scores, order_by_score
from service.recall.question import ARMS, Question, Rewriting
from service.recall.ranking import Ranking, rank_question
from service.recall.timing import time_phase
from service.resources import Resources
from service.settings import EmbeddingSettings, seconds_within_request

Step = Callable[[Transaction], Awaitable[Any]]
Read = Callable[[Step], Awaitable[Any]]  # runs a step in a transaction of the caller
MOST_QUESTIONS = 4  # further questions
LONGEST_PART = 500  # characters of one; a longer one is left out
LONGEST_PASSAGE = 1000  # characters of a made-up answer; what is longer is cut
LONGEST_QUESTION_CHARACTERS = 2000  # characters of a question that is rewritten


class Parts(Answer):
    """The parts of a question."""

    questions: list[Annotated[str, text_of(LONGEST_PART)]] = at_most(
        MOST_QUESTIONS, description="Two to four short questions, each complete in itself"
    )


class Passage(Answer):
    """An answer that is made up."""

    passage: str = text_of(LONGEST_PASSAGE, description="One to three sentences")


@dataclass(frozen=True)
class Rewritten:
    """Further questions, or the reason why there are none; neither where none were asked for."""

    questions: list[str] = field(default_factory=list)
    reason: str | None = None


async def rewrite_question(resources: Resources, read: Read, question: Question) -> Rewritten:
    """Have the model rewrite a question that asks for it. No transaction is open while it thinks."""
    if question.rewrite is None:
        return Rewritten()
    if resources.model is None:
        return Rewritten(reason="no language model is configured")
    if len(question.query) > LONGEST_QUESTION_CHARACTERS:
        return Rewritten(reason=f"the question is longer than {LONGEST_QUESTION_CHARACTERS:,} characters")
    namespace, reason = await read(lambda tx: _find_payer(tx, question))
    made: list[str] = []
    if reason is None:
        try:
            with time_phase("rewrite"):
                made = await _ask_for_questions(resources, namespace, question.query, question.rewrite)
        except (ModelError, Postponed, BadPrompt) as error:
            reason = str(error)
    return Rewritten(made, None if made else reason or "the model gave no further question")


async def _find_payer(tx: Transaction, question: Question) -> tuple[str, str | None]:
    """The namespace whose budget is used: the request's own, or the first that is searched. The reason where it may not be."""
    if question.namespaces is None:
        entered = await tx.read_caller()
        name, settings = str(entered.namespace), entered.settings
    else:
        names = None if question.namespaces == "*" else list(question.namespaces)
        rows = await (await search.send_recall_namespaces(tx, namespaces=names)).all()
        first = min(rows, key=lambda row: (row["namespace"] is None, not row["own"]))  # a row without a name: nobody's settings
        if first["namespace"] is None:
            return "", "there is no namespace whose budget it could use"
        name, settings = first["namespace"], first["settings"]
    return name, None if settings["recall_rewrite"] else f"the setting recall_rewrite of {name} is off"


async def _ask_for_questions(resources: Resources, namespace: str, query: str, how: Rewriting) -> list[str]:
    about: dict[str, Any] = {"namespace": namespace, "purpose": "rewrite", "prompt": f"{how}.md", "data": {"question": query}}
    about["deadline"] = seconds_within_request(resources.settings.llm.recall_deadline, resources.settings.deadlines.read)
    if how == "hypothetical":
        passage = (await ask_model(resources, Passage, **about)).passage
        return further_questions(query, [passage[:LONGEST_PASSAGE]], longest=LONGEST_PASSAGE)
    return further_questions(query, (await ask_model(resources, Parts, **about)).questions)


def further_questions(query: str, said: list[str], *, longest: int = LONGEST_PART) -> list[str]:
    """A model's text as questions: on one line each, without empty or overlong ones, repetitions, and the question itself."""
    folded = {text.casefold(): text for text in reversed([" ".join(one.split()) for one in said])}
    folded.pop(" ".join(query.split()).casefold(), None)
    return [text for text in reversed(folded.values()) if 0 < len(text) <= longest][:MOST_QUESTIONS]


async def rank_with(
    tx: Transaction, question: Question, further: list[str], provider: Provider | None, settings: EmbeddingSettings
) -> Ranking:
    """Rank memories for a question and for further ones."""
    ranking = await rank_question(tx, question, provider, settings)
    arms = tuple(arm for arm in question.arms if arm in ARMS)  # hits of other tiers are numbered by the search that finds them
    if not further or not arms:
        return ranking
    others = []
    for text in further:
        part = replace(question, query=text, arms=arms, session_id=None, embedding=None, explain=False)
        other = await rank_question(tx, part, provider, settings)
        if [source.name for source in other.asked.sources] == [source.name for source in ranking.asked.sources]:
            others.append((text, other))
    return join_rankings(ranking, others)


def join_rankings(ranking: Ranking, others: list[tuple[str, Ranking]]) -> Ranking:
    """One ranking of several: scores over the best of each, those of the question as much as those of all further ones together.

    In the unit of the question's own scores. A hit found only by a rewritten question has an own score of 0.
    """
    if not others:
        return ranking
    scores_of = ranking.fused.scores
    unit = max(scores_of.values(), default=0.0) or 1.0
    shares = [(text, normalise_scores(other.fused.scores), order_by_score(other.fused.scores)) for text, other in others]
    own = normalise_scores(scores_of)
    keys = dict.fromkeys([*scores_of, *(key for _, scores, _ in shares for key in scores)])
    final = {
        key: unit * (own.get(key, 0.0) + sum(scores.get(key, 0.0) for _, scores, _ in shares) / len(shares)) / 2 for key in keys
    }
    places = [(text, {key: nth for nth, key in enumerate(order, start=1)}) for text, _, order in shares]
    notes = {
        key: {
            "rewrite": {
                "own_score": scores_of.get(key),
                "questions": [{"question": text, "rank": ranks.get(key)} for text, ranks in places],
            }
        }
        for key in keys
    }
    fused = replace(ranking.fused, scores={key: scores_of.get(key, 0.0) for key in keys})
    best = order_by_score(final)[: ranking.plan.question.k]
    return replace(ranking, best=best, fused=fused, final=final, notes=notes)
