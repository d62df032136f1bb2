"""Why a recall does not bring a memory: the time, status, filter, arm, relevance or rank that dropped it.

The recall is repeated unchanged, so the explanation is what happened: nothing here ranks.
"""

import re
from dataclasses import replace
from typing import Any

from db.pool import JsonObject, Transaction
from db.recall.why_not import ExaminedMemory, examine_memory
from service.embedding.active_model import find_active_model
from service.recall.log import ranks_by_arm
from service.recall.pipeline import recall_with_ranking
from service.recall.question import Question
from service.recall.ranking import Ranking, embed_question
from service.recall.rewrite import Read
from service.resources import Resources

MOMENT = re.compile(r"\d{4,}-\d\d-\d\dT[\d:.]+\+00:00")
AROUND = {
    "hierarchy": "it stands neither above, beside nor below one of the twenty best hits",
    "names": "it shares no rare name with one of the twenty best hits",
    "walk": "no aspect of an entity that is named or pinned rests on it",
}


async def explain_absence(resources: Resources, read: Read, question: Question, memory: str) -> JsonObject:
    """Ask again, without leaving a trace, and say what became of one memory."""
    question = replace(question, log=False, session_id=None, explain=False)

    async def examine_in_transaction(tx: Transaction) -> ExaminedMemory:
        used = await find_active_model(resources.provider, tx)
        embedding, _ = await embed_question(tx, question, used, resources.settings.embedding)
        return await examine_memory(tx, memory=memory, query=question.query, embedding=embedding, scope=question.scope)

    found: ExaminedMemory = await read(examine_in_transaction)
    for check in found["checks"]:
        check["asked"], check["has"] = _format_utc(check["asked"]), _format_utc(check["has"])
    answer, ranking = await recall_with_ranking(resources, read, question)
    shown = next((nth for nth, row in enumerate(answer.results, start=1) if row.get("id") == found["id"]), None)
    said = _describe_place(ranking, found, shown)
    last = answer.results[-1]["score"] if answer.results else None
    dropped_by, because = _judge_absence(ranking, found, said, shown, last)
    return {
        "memory_id": found["id"],
        "lineage": found["lineage"],
        "content": found["content"],
        "dropped_by": dropped_by,
        "because": because,
        **said,
        "last_score": last,
        "checks": found["checks"],
        "arms": [_describe_arm(ranking, found, arm) for arm in _list_possible_arms(ranking)],
        "instead": found["instead"],
    }


def _format_utc(value: Any) -> Any:
    """Moments as elsewhere in the API: what JSON of the database ends in +00:00."""
    if isinstance(value, list):
        return [_format_utc(each) for each in value]
    return value.removesuffix("+00:00") + "Z" if isinstance(value, str) and MOMENT.fullmatch(value) else value


def _describe_place(ranking: Ranking, found: ExaminedMemory, shown: int | None) -> JsonObject:
    """Where it is among all hits."""
    key = found["doc_id"]
    order = ranking.best_of(len(ranking.fused.scores))
    ranked = key in ranking.fused.scores
    return {
        "rank": shown or (order.index(key) + 1 if ranked else None),
        "score": ranking.score_of(key) if ranked else None,
        "hits": len(order),
        "relevance": ranking.relevance.get(key),
    }


def _judge_absence(
    ranking: Ranking, found: ExaminedMemory, said: JsonObject, shown: int | None, last: float | None
) -> tuple[str, str]:
    """The first thing that dropped it, and a sentence."""
    if shown is not None:
        return "nothing", f"it is result {shown} of this answer"
    failed = next((check for check in found["checks"] if not check["passes"]), None)
    if failed is not None:
        return _explain_failed_check(failed, found)
    if said["rank"] is None:
        return "arms", "no arm found it"
    least = ranking.plan.question.min_relevance
    if least is not None and said["relevance"] is not None and said["relevance"] < least:
        return "relevance", f"its relevance is {said['relevance']:.2g}, below the {least:g} asked for"
    k = ranking.plan.question.k
    if last is None or said["rank"] <= k:
        return "relevance", f"the whole answer is below the relevance of {least:g} asked for" if least else "it was left out"
    return "rank", f"it is hit {said['rank']} of {said['hits']}; {k} were asked for, and the last of them scores {last:.3g}"


def _explain_failed_check(check: JsonObject, found: ExaminedMemory) -> tuple[str, str]:
    name, has = check["name"], check["has"]
    if name == "known_at":
        return "time", f"it was not known then: it was written at {has}"
    if name == "status":
        return "status", f"it is {has}"
    if name == "as_of":
        begin, end = has
        when = f"from {begin} on" if end is None else "never" if begin == end else f"from {begin} to {end}"
        other = "; another version of its lineage was true then" if found["instead"] else ""
        return "time", f"it was not true then: it is true {when}{other}"
    return "filter", f"the filter {name} asks for {check['asked']}; it has {has if has is not None else 'nothing of that'}"


def _list_possible_arms(ranking: Ranking) -> list[str]:
    """The arms that this answer could have: those asked for, and the one over names, which comes with the graph."""
    asked = [arm for arm in ranking.plan.question.arms if arm not in {"working_memory", "conversation"}]
    return [*asked, *(["names"] if "names" in ranking.arms or "graph" in asked else [])]


def _describe_arm(ranking: Ranking, found: ExaminedMemory, arm: str) -> JsonObject:
    """The effect of one arm on it."""
    hits, key = ranking.arms.get(arm), found["doc_id"]
    place: dict[str, Any] = ranks_by_arm(ranking, key).get(arm, {"rank": None, "score": None})
    scores = list(hits.scores.values()) if hits else []
    return {
        "arm": arm,
        **place,
        "part": ranking.fused.parts.get(arm, {}).get(key),
        "hits": len(scores),
        "last_score": scores[-1] if scores else None,
        "because": "it is among the hits" if place["rank"] else _explain_missing_arm(ranking, found, arm, len(scores)),
    }


def _explain_missing_arm(ranking: Ranking, found: ExaminedMemory, arm: str, hits: int) -> str:
    """Why an arm does not have it."""
    if arm in ranking.skipped:
        return f"the arm took no part: {ranking.skipped[arm]}"
    if any(not check["passes"] for check in found["checks"]):
        return "times, status and filters come first, and it does not pass"
    reasons = {
        "lexical": _explain_word_arm(found),
        "vector": _explain_meaning_arm(found, hits),
        "graph": _explain_graph_arm(ranking, found, hits),
        **AROUND,
    }
    return reasons.get(arm, "the arm did not find it")


def _explain_graph_arm(ranking: Ranking, found: ExaminedMemory, hits: int) -> str:
    if not found["named"]:
        return "the question names no entity"
    if found["mentioned"]:
        said = f"it mentions {', '.join(found['mentioned'])}, "
        if hits < int(ranking.plan.settings["depth"]):  # there was room: the name itself leads nowhere
            return said + "which leads nowhere: what was only read out of texts, or is in very many, is left to the search by words"
        return said + f"and the {hits} that the arm took weigh more"
    return "it mentions none of the entities that the question names, nor their neighbours within reach"


def _explain_word_arm(found: ExaminedMemory) -> str:
    if found["covered"]:
        return f"it has {found['covered']:.0%} of the question's words, by their rarity; others have more"
    return "it has none of the question's words"


def _explain_meaning_arm(found: ExaminedMemory, hits: int) -> str:
    if found["vector"] is None:
        return "there is no embedding model"
    if found["vector"] == "waits":
        return "its vector is not made yet"
    if found["vector"] != "stored":
        return f"the model refused it: {found['vector']}"
    if found["similarity"] is None:
        return "the question has no vector"
    return f"its cosine with the question is {found['similarity']:.3f}; the arm takes the {hits} nearest"
