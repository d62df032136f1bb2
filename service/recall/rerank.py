"""A second opinion: the best results of a recall are judged against the question again, and put in another order.

Texts are read first and judged when the transaction has ended, so that no connection waits for an endpoint.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from db.pool import JsonObject
from service.jobs.job import Postponed
from service.llm.model import ModelError
from service.models.reranking import judge_texts
from service.recall.answer import Pending
from service.recall.fusion import Neighbours, lend_to_neighbours
from service.recall.question import Question
from service.recall.ranking import Ranking, with_turns
from service.recall.sources import is_memory, unpack_hit
from service.recall.timing import time_phase
from service.rerank.piece_store import Kept, Reading, find_stored_pieces, finished_reading
from service.rerank.reranker import Read, Reranker, StillReading
from service.resources import Resources
from service.text.subject import format_statement

LONGEST_QUESTION = 2000  # characters of the question that a reranker reads
FLOOR = 0.5  # of the best judgement: one above this is not worth nothing because it is the least of few
LENDING = 0.6  # of what the search lends to neighbours, what a judgement does; measured: docs/design/relevance.md


def results_to_judge(resources: Resources, question: Question) -> tuple[int, str | None]:
    """How many results are judged; and why none are although the question asks for it."""
    if question.rerank is False:
        return 0, None
    if resources.reranker is None:
        return 0, None if question.rerank is None else "no reranker is configured"
    stated = question.rerank
    return (resources.settings.rerank.top_n if stated is None or stated is True else stated), None


def turns_to_read(ranking: Ranking) -> list[int]:
    """Turns beside the results to judge that are no results themselves."""
    return sorted({turn for turns in neighbouring_turns(ranking.near).values() for turn in turns} - set(ranking.best))


def neighbouring_turns(near: Neighbours[int]) -> dict[int, list[int]]:
    """The turns right before and after each. The nearer ones of up to two on each side have the larger share."""
    largest = {key: max((share for _, share in others), default=0.0) for key, others in near.items()}
    return {key: [other for other, share in others if share == largest[key]] for key, others in near.items()}


async def to_judge(resources: Resources, ranking: Ranking, most: int) -> Pending:
    """Send for what a reranker reads: the first `most` of the ranking, with the turns beside them where it reads these."""
    reranker = resources.reranker
    if reranker is None or not most:
        return await Pending.send_query(ranking)
    if reranker.reads_turns:
        ranking = await with_turns(ranking, ranking.best[:most])
    return await Pending.send_query(ranking, turns_to_read(ranking), reranker.keeps)


async def rerank_best(
    resources: Resources,
    ranking: Ranking,
    rows: Mapping[int, JsonObject],
    most: int,
    kept: Mapping[int, Kept] = MappingProxyType({}),
) -> tuple[Ranking, JsonObject | None]:
    """The first `most` of the ranking in a new order, and who made it: None where nobody did. `skipped` then says why.

    `kept`: what the reranker has read of hits before. Readings made now are kept in the background.

    Namespaces with recall_rerank off are not sent to the reranker; their memories keep their score.
    """
    reranker, sources = resources.reranker, ranking.asked.sources
    there = [key for key in ranking.best[:most] if key in rows]
    shown = [key for key in there if sources[unpack_hit(key)[0]].settings["recall_rerank"]]
    if there and not shown:
        ranking.skipped["rerank"] = "the setting recall_rerank is off"
    if reranker is None or len(shown) < 2:  # noqa: PLR2004 (one result has one order)
        return ranking, None
    longest = resources.settings.rerank.max_chars
    texts = {key: text_of(rows[key])[:longest] for key in shown}
    turns = turns_before(ranking.near, rows) if reranker.reads_turns else {}
    said = {turn: text_of(rows[turn])[:longest] for turn in (turns[key] for key in shown if key in turns)}
    try:
        with time_phase("rerank"):
            judgement = await judge_texts(
                resources,
                reranker,
                namespace=sources[unpack_hit(shown[0])[0]].name,
                query=ranking.plan.question.query[:LONGEST_QUESTION],
                texts=list(texts.values()),
                before=[said[turns[key]] if key in turns else None for key in shown] if reranker.reads_turns else None,
                kept=find_stored_pieces(said | texts, kept),
            )
    except (ModelError, Postponed) as error:
        ranking.skipped["rerank"] = str(error)
        if isinstance(error, StillReading):
            _store_readings(resources, ranking, reranker, said | texts, error.reading)
        return ranking, None
    if judgement.read:
        _store_readings(resources, ranking, reranker, said | texts, finished_reading(judgement.read))
    judged = dict(zip(shown, judgement.scores, strict=True))
    counted = in_conversation(judged, ranking) if reranker.reads_turns else judged
    return reorder_by_judgement(ranking, judged, counted, reranker), {"model": reranker.name, "results": len(shown)}


def _store_readings(
    resources: Resources, ranking: Ranking, reranker: Reranker, texts: Mapping[int, str], read: "asyncio.Future[Read]"
) -> None:
    """Have what is read of memories kept, as soon as it is there."""
    if resources.pieces is None or reranker.keeps is None:
        return
    places: dict[str, list[tuple[str, int]]] = {}
    for key, text in texts.items():
        place, _, number = unpack_hit(key)
        if is_memory(key):
            places.setdefault(text, []).append((ranking.asked.sources[place].name, number))
    resources.pieces.put_reading(Reading(reranker.keeps, places, read))


def turns_before(near: Neighbours[int], rows: Mapping[int, JsonObject]) -> dict[int, int]:
    """For each result the turn that was said just before it, where there is one."""

    def source_and_turn(key: int) -> tuple[Any, int]:
        return rows[key]["valid_from"], unpack_hit(key)[2]

    found = {}
    for key, turns in neighbouring_turns(near).items():
        earlier = [turn for turn in turns if turn in rows and key in rows and source_and_turn(turn) < source_and_turn(key)]
        if earlier:
            found[key] = max(earlier, key=source_and_turn)
    return found


def in_conversation(judged: Mapping[int, float], ranking: Ranking) -> dict[int, float]:
    """Judgements adjusted like scores of the search: turns lend to their neighbours, and the speaker counts."""
    scores, factors = _scale_scores(judged, FLOOR), ranking.fused.factors
    given = lend_to_neighbours(scores, ranking.near)
    return {key: (score + LENDING * given.get(key, 0.0)) * factors.get(key, 1.0) for key, score in scores.items()}


def text_of(row: JsonObject) -> str:
    """Judged text of a result: its speaker, its subject where neither that nor the words say so, and its words."""
    if row["tier"] == "working_memory":
        return row["value"] if isinstance(row["value"], str) else json.dumps(row["value"], ensure_ascii=False)
    speaker = row["role"] if row["tier"] == "conversation" else row["source"]
    said = format_statement(row, speaker=True)
    return f"{speaker}: {said}" if speaker else said


def weight_of_judgement(reranker: Reranker, judged: Mapping[int, float], near: Neighbours[int]) -> float:
    """Share of the judgement in the order: between that of texts that stand alone and that of turns, by how many are turns."""
    turns = sum(bool(near.get(key)) for key in judged) / len(judged)
    return turns * reranker.weight + (1 - turns) * reranker.weight_alone


def blend_scores(own: Mapping[int, float], judged: Mapping[int, float], weight: float) -> dict[int, float]:
    """Scores between the lowest and the highest own one: `weight` of the judgement, the rest of the own score, both from 0 to 1."""
    lowest, highest = min(own.values()), max(own.values())
    first, second = _scale_scores(own), _scale_scores(judged)
    return {
        key: max(lowest, highest - (highest - lowest) * (1 - (weight * second[key] + (1 - weight) * first[key]))) for key in judged
    }


def _scale_scores(scores: Mapping[int, float], floor: float = 1.0) -> dict[int, float]:
    """Scores from 0 (the lowest, or a share of the highest where that is lower) to 1 (the highest); all 1 where they are equal."""
    highest = max(scores.values())
    lowest = min(*scores.values(), floor * highest)
    return {key: (score - lowest) / (highest - lowest) if highest > lowest else 1.0 for key, score in scores.items()}


def reorder_by_judgement(
    ranking: Ranking, judged: Mapping[int, float], counted: Mapping[int, float], reranker: Reranker
) -> Ranking:
    """The ranking with the scores that a judgement makes; equal ones go by the judgement, and others stay where they were.

    `counted`: what a judgement counts in the order.
    """
    own = {key: ranking.score_of(key) for key in judged}
    final = {**ranking.final, **blend_scores(own, counted, weight_of_judgement(reranker, judged, ranking.near))}
    scored = replace(ranking, final=final)
    better = iter(sorted((key for key in ranking.best if key in judged), key=lambda key: (-final[key], -counted[key])))
    best = sorted((next(better) if key in judged else key for key in ranking.best), key=lambda key: -scored.score_of(key))
    notes = dict(ranking.notes)
    for nth, key in enumerate(ranking.best, start=1):
        if key in judged:
            told = {"model": reranker.name, "score": judged[key], "own_rank": nth, "own_score": own[key]}
            notes[key] = {**notes.get(key, {}), "rerank": told}
    return replace(scored, best=best, notes=notes)
