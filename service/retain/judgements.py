"""Decisions about each fact of a text, as a model sees it, and those that stand up to the guards.

The model sees facts and what is known beside them by number, and says a decision for each. A refused decision gives way to the
rules' decision, or the fact becomes a memory of its own: in doubt nothing known is ended, and nothing that is told is left out.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from db.pool import JsonObject
from service.llm.answer_parsing import Answer
from service.llm.schemas import NOUGHT_IS_NONE, Numbers, at_most, mark_bounded_list, mark_shown_number, share, text_of
from service.text.guards import find_missing_marks, kept_share, same_subject
from service.text.marks import Read
from service.text.subject import format_statement

SAID = 0.5  # share of a fact's words that a memory must have to make the fact known
LINKS = 8  # of one fact
SHOWN_CHARACTERS = 2000  # characters of a known memory that the model sees
_TYPE = re.compile(r"[^\w]+")
Known = Annotated[int, mark_shown_number("known")]


class FactLink(Answer):
    """A link of a fact to something known beside it."""

    target: Known = Field(description="Number of the known one")
    type: str = text_of(64, least=20, default="related_to", description="Relation in snake_case")
    strength: float = share(0.5, description="0 to 1")


class Judgement(Answer):
    """The decision about one fact."""

    fact: Annotated[int, mark_shown_number("facts")] = Field(description="Number of the fact")
    action: Literal["create", "update", "link", "nothing"]
    target: Annotated[Known | None, NOUGHT_IS_NONE] = Field(
        None, description="Number of the known one that it is about; null for create"
    )
    confidence: float = share(0.5, description="0 to 1")
    reason: str = text_of(300, least=20, default="")
    links: list[FactLink] = at_most(5, default_factory=list)


class Judgements(Answer):
    """One decision for each fact."""

    decisions: list[Judgement] = mark_bounded_list("facts", least=1)


Fault = tuple[str, str]  # the name of a guard, and why it stands against a decision
OTHERS = "the two do not speak of the same thing"
NO_TARGET: Fault = "target", "its target is not among what is known beside the fact"


@dataclass(frozen=True)
class _JudgedFact:
    """A fact that the model was asked about, what it said, and what that is weighed by."""

    fact: str
    judgement: Judgement
    settings: JsonObject
    read: Read
    breaker: str | None


@dataclass
class _Text:
    """Things that earlier facts of the text ended: lineages with a new version, and facts that are no memory of their own."""

    over: set[str] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)


def facts_shown(basis: list[JsonObject], items: list[JsonObject]) -> JsonObject:
    """The data for the model: the facts that are not settled, and what is known beside each, by number."""
    return {
        "facts": [
            {
                "number": row["ordinal"] + 1,
                "text": format_statement(items[row["ordinal"]]),
                "known": [_show_candidate(one) for one in row["known"]],
            }
            for row in basis
        ]
    }


def numbers_shown(basis: list[JsonObject]) -> Numbers:
    """The numbers that a judgement may name."""
    return {"facts": [row["ordinal"] + 1 for row in basis], "known": {one["number"] for row in basis for one in row["known"]}}


def closest(known: list[JsonObject], count: int) -> list[JsonObject]:
    """Memories shown beside a fact: what contradicts it, then what is most like it."""
    ranked = sorted(known, key=lambda one: (one["signal"] is None, -(one["similarity"] or 0), one["number"]))
    return sorted(ranked[:count], key=lambda one: int(one["number"]))


def _show_candidate(one: JsonObject) -> JsonObject:
    said = {"number": one["number"], "text": format_statement(one)[:SHOWN_CHARACTERS], "since": one["valid_from"][:10]}
    if one["similarity"] is not None:
        said["similarity"] = round(one["similarity"], 2)
    return said if one["fact"] is None else {**said, "earlier_fact": one["fact"] + 1}


def ended_by_model(decisions: list[JsonObject]) -> int:
    """How many stored facts end by a model's word alone, without a contradiction that the rules see."""
    return sum(one["action"] == "update" and one.get("signal") == "model" and "target_id" in one for one in decisions)


def weigh_judgements(
    basis: list[JsonObject],
    items: list[JsonObject],
    judged: list[Judgement],
    settings: JsonObject,
    read: Read,
    breaker: str | None = None,
) -> list[JsonObject]:
    """One decision a fact, in the form that loci_api.retain takes, with `decided_by`: the model's where it stands, else another.

    A refused decision has the guard's name in `refused`. `breaker`: why nothing stored ends by the model's word alone.
    """
    by_fact: dict[int, Judgement] = {}
    for one in judged:
        by_fact.setdefault(one.fact - 1, one)
    text, decisions = _Text(), []
    for row in basis:
        judgement = by_fact.get(row["ordinal"])
        if row["is_settled"] or judgement is None:
            decision = _by_rules(row, text)
        else:
            asked = _JudgedFact(format_statement(items[row["ordinal"]]), judgement, settings, read, breaker)
            decision = _weigh_judgement(row, asked, text)
        _note_ending(decision, row, text)
        decisions.append(decision)
    return decisions


def _weigh_judgement(row: JsonObject, asked: _JudgedFact, text: _Text) -> JsonObject:
    """The model's decision about a fact, if no guard refuses it."""
    judgement = asked.judgement
    known = {one["number"]: one for one in row["known"] if not _is_over(one, text)}
    links = _make_links(judgement, known)
    target = None if judgement.target is None else known.get(judgement.target)
    stated = {
        "ordinal": row["ordinal"],
        "confidence": _clamp_to_unit(judgement.confidence),
        "reason": " ".join(judgement.reason.split())[:300] or None,
        "decided_by": "model",
    }
    if judgement.action in ("create", "link"):
        if judgement.action == "link" and not links and target is not None:
            links = [{**_make_reference(target), "type": "related_to", "strength": 0.5}]
        return {**stated, **_decide_own_memory(links)}
    fault = _find_fault(asked, target)
    if target is None or fault is not None:
        guard, why = fault or NO_TARGET
        reason = f"the model's {judgement.action} was refused: {why}"
        return {**_replace_decision(row, judgement, target, links, reason, text), "refused": guard}
    if judgement.action == "nothing":
        return {**stated, "action": "nothing", **_make_reference(target)}
    return {**stated, "action": "update", **_make_reference(target), "signal": target["signal"] or "model", "links": links}


def _find_fault(asked: _JudgedFact, target: JsonObject | None) -> Fault | None:
    """Why a decision about something known does not stand; None: it does."""
    if target is None:
        return NO_TARGET
    return _find_reason_against_duplicate(asked, target) if asked.judgement.action == "nothing" else _not_sure(asked, target)


def _find_reason_against_duplicate(asked: _JudgedFact, target: JsonObject) -> Fault | None:
    """Why a memory does not make a fact known; None: it does."""
    if target["signal"] is not None:
        return "contradiction", "the two contradict each other"
    if not target["same_subject"]:
        return "subject", OTHERS
    if lost := find_missing_marks(asked.read, [asked.fact], format_statement(target)):
        return "lost", f"what is known does not say {', '.join(lost[:5])}"
    if kept_share(asked.read, asked.fact, format_statement(target)) < SAID:
        return "lost", "what is known has few of its words"
    return None


def _not_sure(asked: _JudgedFact, target: JsonObject) -> Fault | None:
    """Why a fact makes no version of a memory; None: it does."""
    settings, sure = asked.settings, _clamp_to_unit(asked.judgement.confidence)
    if settings["supersession"] != "apply":
        return "supersession", f"the setting supersession is {settings['supersession']}"
    if sure < settings["supersession_threshold"]:
        return "unsure", f"it is not sure enough ({sure:.2f})"
    if target["signal"] is not None:
        return None
    if not target["same_subject"] or not same_subject(asked.read, asked.fact, format_statement(target)):
        return "subject", OTHERS
    if target["is_protected"]:
        return "protected", "the memory is protected, and the rules see no contradiction"
    return None if asked.breaker is None or target["fact"] is not None else ("breaker", asked.breaker)


def _replace_decision(
    row: JsonObject, judgement: Judgement, target: JsonObject | None, links: list[JsonObject], why: str, text: _Text
) -> JsonObject:
    """The decision in place of a refused one: the rules' own one, or a memory of its own."""
    rules = _by_rules(row, text)
    agreed = target is not None and rules["action"] == judgement.action and _make_reference(target).items() <= rules.items()
    if agreed or (target is None and rules["action"] != "update"):
        return rules
    if target is not None and judgement.action == "update" and not links:
        links = [{**_make_reference(target), "type": "contradicts", "strength": _clamp_to_unit(judgement.confidence)}]
    return {"ordinal": row["ordinal"], "confidence": 0.5, "reason": why, "decided_by": "rules", **_decide_own_memory(links)}


def _by_rules(row: JsonObject, text: _Text) -> JsonObject:
    """The rules' decision, or a new memory if that decision rests on one that the model has ended."""
    decision = {**row["decision"], "decided_by": "rules"}
    known = {(one["memory_id"], one["fact"]): one for one in row["known"]}
    target = known.get((decision.get("target_id"), decision.get("fact")))
    if target is not None and decision["action"] in ("update", "nothing") and _is_over(target, text):
        return {
            "ordinal": row["ordinal"],
            "confidence": 0.5,
            "reason": "what it is about was changed by an earlier fact",
            "decided_by": "rules",
            **_decide_own_memory([]),
        }
    return decision


def _decide_own_memory(links: list[JsonObject]) -> JsonObject:
    """A memory of its own, linked or not."""
    if not links:
        return {"action": "create", "links": []}
    first: JsonObject = {key: links[0][key] for key in ("target_id", "fact") if key in links[0]}
    return {"action": "link", **first, "links": links}


def _make_links(judgement: Judgement, known: dict[int, JsonObject]) -> list[JsonObject]:
    links: dict[tuple[str, str], JsonObject] = {}
    for link in judgement.links:
        kind = _TYPE.sub("_", link.type.strip().lower()).strip("_")[:64]
        if (one := known.get(link.target)) is not None and kind and not kind[0].isdigit():
            links.setdefault(
                (str(_make_reference(one)), kind), {**_make_reference(one), "type": kind, "strength": _clamp_to_unit(link.strength)}
            )
    return list(links.values())[:LINKS]


def _note_ending(decision: JsonObject, row: JsonObject, text: _Text) -> None:
    """Remember what a decision ends."""
    if decision["action"] == "nothing":
        text.gone.add(row["ordinal"])
    elif decision["action"] == "update" and decision.get("fact") is not None:
        text.gone.add(decision["fact"])
    elif decision["action"] == "update" and decision.get("signal") is not None:
        text.over.update(one["lineage"] for one in row["known"] if one["memory_id"] == decision["target_id"])


def _is_over(one: JsonObject, text: _Text) -> bool:
    return one["lineage"] in text.over if one["fact"] is None else one["fact"] in text.gone


def _make_reference(one: JsonObject) -> JsonObject:
    return {"target_id": one["memory_id"]} if one["fact"] is None else {"fact": one["fact"]}


def _clamp_to_unit(number: float) -> float:
    return min(max(number, 0.0), 1.0) if number == number else 0.0  # noqa: PLR0124 (NaN)
