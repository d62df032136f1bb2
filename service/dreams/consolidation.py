"""Consolidation of memories: what the model is shown, and what of its answer may be done.

Duplicates become one, noise goes, categories and tags are put right, and corrections become lessons. The model works with small
numbers; which memory each of them is stays here.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from db import dreams
from db.dreams import MemoryToConsolidate, RecentSignal
from db.pool import JsonObject, Transaction
from service.dreams.guards import (
    ANTI_PATTERNS,
    LASTING,
    Path,
    Tags,
    category_fault,
    free_tags,
    quote_first_words,
    tags_fault,
    text_fault,
    unique_tags,
)
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen, hash_of
from service.dreams.utc_days import day_of
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import Numbers, mark_bounded_list, mark_shown_number, text_of
from service.text.guards import find_invented_marks
from service.text.marks import Read

Memory = Annotated[int, mark_shown_number("memories")]


class Merge(Answer):
    """Memories that one replaces."""

    source_ids: list[Memory] = Field(json_schema_extra={"least": 2})
    content: str = text_of(2000, least=200)
    category: Path | None = None
    tags: Tags = Field(default_factory=list)


class Delete(Answer):
    """A memory of no use."""

    id: Memory
    reason: Literal["noise", "redundant", "outdated"]


class Refinement(Answer):
    """Another category, other tags."""

    id: Memory
    category: Path | None = None
    tags: Tags | None = None


class AntiPattern(Answer):
    """Lessons of corrections."""

    domain: str = text_of(50, least=20)
    content: str = text_of(1000, least=200)
    signal_ids: list[Annotated[int, mark_shown_number("signals")]]
    tags: Tags = Field(default_factory=list)


class Consolidation(Answer):
    """The model's proposals."""

    merges: list[Merge] = mark_bounded_list("memories", default_factory=list)
    deletes: list[Delete] = mark_bounded_list("memories", default_factory=list)
    refinements: list[Refinement] = mark_bounded_list("memories", default_factory=list)
    anti_patterns: list[AntiPattern] = mark_bounded_list("signals", default_factory=list)


@dataclass(frozen=True)
class Known:
    """Memories and signals by the numbers that the model was shown."""

    memories: dict[int, MemoryToConsolidate]
    signals: dict[int, RecentSignal]


@dataclass
class Draft:
    """A plan in the making."""

    known: Known
    read: Read
    steps: dict[str, list[JsonObject]] = field(
        default_factory=lambda: {"merges": [], "deletes": [], "refinements": [], "lessons": []}
    )
    refused: list[Refusal] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)  # numbers that a merge or a delete of the plan removes
    spared: set[int] = field(default_factory=set)  # numbers that a refused merge names

    def refuse_step(self, guard: str, action: str, ids: list[UUID], reason: str) -> None:
        """Leave a step out."""
        self.refused.append(Refusal(guard, action, list(map(str, ids)), reason))

    def describe_memory(self, number: int) -> JsonObject:
        """A memory as the applier wants it."""
        memory = self.known.memories[number]
        return {"id": str(memory["id"]), "seen": memory["updated_at"].isoformat()}


async def gather_memories(tx: Transaction, job: Job, room: Room) -> Seen:
    """Memories and signals, numbered; times and figures are the database's."""
    first = int(job.arguments.get("first", 0))  # memories before are those of other pages
    found = [row for row in await dreams.memories_to_consolidate(tx) if len(row["content"]) <= room.characters]
    page, signals = found[first : first + room.things], (await dreams.recent_signals(tx))[: room.things]
    known = Known(dict(enumerate(page, 1)), dict(enumerate(signals, 1)))
    numbers = {memory["id"]: number for number, memory in known.memories.items()}
    data = {
        "memories": [_show_memory(number, memory) for number, memory in known.memories.items()],
        "signals": [_show_signal(number, signal, numbers) for number, signal in known.signals.items()],
        "may_remove": (await dreams.removal_allowances(tx))["memories"],
    }
    newest = known.signals[1]["id"] if known.signals else None  # that older ones are out of sight by now is no news
    corpus = hash_of([data["memories"], newest])
    count = len(known.memories) + len(known.signals)
    named: Numbers = {"memories": known.memories, "signals": known.signals}
    more = first + len(page) < len(found)
    return Seen(data, count, corpus, known, more=more, shown=max(len(page), len(signals)), numbers=named)


def _show_memory(number: int, memory: MemoryToConsolidate) -> JsonObject:
    shown: JsonObject = {
        "n": number,
        "category": memory["category"],
        "tags": memory["tags"],
        "content": memory["content"],
        "importance": memory["importance"],
        "saved": day_of(memory["created_at"]).isoformat(),
    }
    return shown | ({"kept": True} if memory["kept"] else {})


def _show_signal(number: int, signal: RecentSignal, numbers: dict[UUID, int]) -> JsonObject:
    heard = {"n": number, "kind": signal["kind"], "content": signal["content"]}
    about = numbers.get(signal["memory_id"]) if signal["memory_id"] else None
    return heard if about is None else {**heard, "about": about}


async def hash_corpus(tx: Transaction, job: Job, room: Room) -> str | None:
    """The hash of what a look would see."""
    return (await gather_memories(tx, job, room)).corpus


def check_consolidation(seen: Seen, answer: Consolidation, job: Job) -> Plan:
    """Proposals that stand up to their numbers, their texts and each other.

    Merges first: deletes and refinements give way to them.
    """
    del job
    draft = Draft(seen.known, seen.read)
    twice = {number for number, times in Counter(n for merge in answer.merges for n in set(merge.source_ids)).items() if times > 1}
    for merge in answer.merges:
        _check_merge(draft, merge, twice)
    for delete in answer.deletes:
        _check_delete(draft, delete)
    for refinement in answer.refinements:
        _check_refinement(draft, refinement)
    for lesson in answer.anti_patterns:
        _check_lesson(draft, lesson)
    proposed = len(answer.merges) + len(answer.deletes) + len(answer.refinements) + len(answer.anti_patterns)
    return Plan(draft.steps, proposed, draft.refused)


def _check_merge(draft: Draft, merge: Merge, twice: set[int]) -> None:
    numbers = list(dict.fromkeys(merge.source_ids))
    there = [number for number in numbers if number in draft.known.memories]
    ids = [draft.known.memories[number]["id"] for number in there]
    fault = _merge_fault(draft, merge, numbers, twice)
    if fault is not None:
        draft.spared.update(there)
        draft.refuse_step(fault[0], "merge", ids, fault[1])
        return
    draft.taken.update(numbers)
    sources = [draft.describe_memory(number) for number in numbers]
    tags = free_tags(merge.tags)  # its sources' are kept anyway
    draft.steps["merges"].append({"sources": sources, "content": merge.content, "category": merge.category, "tags": tags})


def _merge_fault(draft: Draft, merge: Merge, numbers: list[int], twice: set[int]) -> tuple[str, str] | None:
    memories = draft.known.memories
    if unknown := [number for number in numbers if number not in memories]:
        return "unknown", f"no memory {unknown[0]} was shown"
    if len(numbers) < 2:  # noqa: PLR2004
        return "alone", "a merge needs two different memories"
    if repeated := [number for number in numbers if number in twice]:
        return "twice", f"memory {memories[repeated[0]]['id']} stands in several merges"
    kinds = [memories[number]["category"] for number in numbers]
    if fault := category_fault(merge.category, kinds) or tags_fault(merge.tags):
        return fault
    sources = [memories[number]["content"] for number in numbers]
    return text_fault(draft.read, sources, merge.content)


def _check_delete(draft: Draft, delete: Delete) -> None:
    memory = draft.known.memories.get(delete.id)
    if memory is None:
        draft.refuse_step("unknown", "delete", [], f"no memory {delete.id} was shown")
    elif delete.id in draft.spared:
        draft.refuse_step("spared", "delete", [memory["id"]], "it was to be removed by a merge that was refused")
    elif delete.id not in draft.taken:  # listed beside its merge, or twice: it goes once
        draft.taken.add(delete.id)
        draft.steps["deletes"].append({**draft.describe_memory(delete.id), "reason": delete.reason})


def _check_refinement(draft: Draft, refinement: Refinement) -> None:
    memory = draft.known.memories.get(refinement.id)
    if memory is None:
        draft.refuse_step("unknown", "refine", [], f"no memory {refinement.id} was shown")
        return
    kept = [tag for tag in memory["tags"] if tag in LASTING]
    tags = None if refinement.tags is None else unique_tags(free_tags(refinement.tags) + kept)
    if refinement.id in draft.taken:
        draft.refuse_step("removed", "refine", [memory["id"]], "the same answer removes it, or refines it twice")
    elif fault := category_fault(refinement.category, [memory["category"]]) or tags_fault(tags or []):
        draft.refuse_step(fault[0], "refine", [memory["id"]], fault[1])
    elif (refinement.category or memory["category"], memory["tags"] if tags is None else tags) != (
        memory["category"],
        memory["tags"],
    ):
        draft.taken.add(refinement.id)
        draft.steps["refinements"].append({**draft.describe_memory(refinement.id), "category": refinement.category, "tags": tags})


def _check_lesson(draft: Draft, lesson: AntiPattern) -> None:
    known = [draft.known.signals[number] for number in dict.fromkeys(lesson.signal_ids) if number in draft.known.signals]
    ids = [signal["id"] for signal in known]
    domain = re.sub(r"[\s_]+", "-", lesson.domain.strip().lower())
    about = {signal["memory_id"] for signal in known}
    sources = [signal["content"] for signal in known]
    sources += [memory["content"] for memory in draft.known.memories.values() if memory["id"] in about]
    if len(known) < len(set(lesson.signal_ids)) or not known:
        draft.refuse_step("unknown", "learn", ids, "it rests on signals that were not shown")
    elif any(signal["kind"] != "correction" for signal in known):
        draft.refuse_step("signals", "learn", ids, "it rests on a signal that is no correction")
    elif "/" in domain or category_fault(f"{ANTI_PATTERNS}/{domain}") or tags_fault(lesson.tags):
        draft.refuse_step("category", "learn", ids, "its domain or its tags cannot be used")
    elif not lesson.content:
        draft.refuse_step("empty", "learn", ids, "the text is empty")
    elif new := find_invented_marks(draft.read, sources, lesson.content, allowed=[lesson.domain]):
        draft.refuse_step("invented", "learn", ids, f"no signal says {quote_first_words(new)}")
    else:
        tags = unique_tags(["anti-pattern", *free_tags(lesson.tags)])
        step = {"content": lesson.content, "category": f"{ANTI_PATTERNS}/{domain}", "tags": tags, "signals": list(map(str, ids))}
        draft.steps["lessons"].append(step)


async def apply_consolidation(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Apply what stood up to the checks; the rows have the last word."""
    del job
    done = await dreams.apply_consolidation(tx, plan=plan.steps)
    return Applied(done["changes"], [Refusal(**refusal) for refusal in done["refused"]], done["stopped"])


MEMORIES = Pass("memories", "dream.md", Consolidation, gather_memories, check_consolidation, apply_consolidation, hash_corpus)
