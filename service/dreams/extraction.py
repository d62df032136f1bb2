"""Extraction of entities: named things and their relations, read out of conversations and episodes.

The model says what it has read and where; what is not written there is refused. Which rows that becomes is decided in SQL.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC
from typing import Annotated, Any

from pydantic import Field

from db import dreams
from db.dreams import CatalogueEntity
from db.graph import edges
from db.pool import Transaction
from db.text import canonical_names
from service.dreams.extraction_guards import Entity, ExtractionInput, Text, Triple, plan_of
from service.dreams.guards import OF_ROWS
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import NOUGHT_IS_NONE, at_most, mark_bounded_list, mark_shown_number, share, text_of

LONGEST, ALL, SHORTEST = 4000, 240_000, 200  # characters of a text, of all of them, and of a text where there are many
EACH = 0.25  # entities and triples of a text, for which an answer has room at least
TYPES = ("person", "project", "topic", "tool", "event", "document", "technology", "concept", "organization")


Name = Annotated[str, text_of(120, least=30)]
Word = Annotated[str, text_of(120, least=20)]
Number = Annotated[int, mark_shown_number("catalogue")]


class ReadEntity(Answer):
    """A named thing that the texts with these numbers name; `existing`: its number in the catalogue."""

    name: Name
    type: Word
    aliases: Annotated[list[Name], at_most(5)] = Field(default_factory=list)
    description: Annotated[str, text_of(300)] | None = None
    existing: Annotated[Number | None, NOUGHT_IS_NONE] = None
    texts: list[Annotated[int, mark_shown_number("texts")]]


class ReadTriple(Answer):
    """Statements of the texts with these numbers: ends are names of entities, or numbers of the catalogue."""

    source: Name | Number
    predicate: Word
    target: Name | Annotated[Number | None, NOUGHT_IS_NONE] = None
    literal: Annotated[str, text_of(300)] | None = None
    confidence: Annotated[float, share()]
    texts: list[Annotated[int, mark_shown_number("texts")]]


class Extraction(Answer):
    """A model's reading."""

    entities: list[ReadEntity] = mark_bounded_list("texts", 5, least=EACH)
    triples: list[ReadTriple] = mark_bounded_list("texts", 5, least=EACH)


async def gather_texts(tx: Transaction, job: Job, room: Room) -> Seen:
    """The turns and episodes that the pass has not read, and the entities that a reader of them should know.

    Long texts are cut, the shorter the more there are. Texts that are not shown are not there for the checks either.
    """
    limit = min(int(job.settings["dream_limit"]), room.things)
    waiting = await dreams.turns_to_read(tx, id=job.id, name="entities")
    turns, failed = waiting[:limit], waiting[0]["failed_reads"] if waiting else None
    episodes = await dreams.episodes_to_read(tx, id=job.id, limit=max(limit - len(turns), 0), length=LONGEST, failed=failed)
    length = min(LONGEST, room.characters, max(SHORTEST, ALL // max(len(turns) + len(episodes), 1)))
    texts = [
        *(
            Text(content=turn["content"][:length], at=turn["said_at"], session_id=turn["session_id"], role=turn["role"])
            for turn in turns
        ),
        *(
            Text(content=row["content"][:length], at=row["valid_from"], session_id=row["session_id"], memory_id=row["id"])
            for row in episodes
        ),
    ]
    if not texts:
        return Seen(None, 0)
    catalogue = await dreams.entity_catalogue(tx, texts=[text.content for text in texts], limit=limit)
    said = [*(text.content for text in texts), *(name for row in catalogue for name in (row["name"], *row["aliases"]))]
    names = dict(zip(said, await canonical_names(tx, texts=said), strict=True))
    known = ExtractionInput(dict(enumerate(texts, 1)), dict(enumerate(catalogue, 1)), types_of(catalogue), names)
    data = {
        "texts": texts_shown(known.texts),
        "catalogue": [
            {"id": number, "name": row["name"], "type": row["type"], "aliases": row["aliases"]}
            for number, row in known.catalogue.items()
        ],
        "types": sorted(known.types),
        "predicates": await edges.edge_types_used(tx),
    }
    return Seen(
        data,
        len(texts),
        known=known,
        turns=[turn["id"] for turn in turns],
        episodes=[row["id"] for row in episodes],
        more=any(turn["more"] for turn in turns) or len(texts) == room.things,
        shown=len(texts),
        numbers={"texts": known.texts, "catalogue": known.catalogue},
    )


def types_of(catalogue: Iterable[CatalogueEntity]) -> frozenset[str]:
    """Types that an entity may be given: those of the seeds, and those in use."""
    return frozenset(TYPES) | {row["type"] for row in catalogue} - {"extracted", "unknown"}


def texts_shown(texts: dict[int, Text]) -> list[dict[str, Any]]:
    """Texts as the model reads them: by conversation, and each episode by itself."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for number, text in texts.items():
        line = {"n": number, "at": text.at.astimezone(UTC).isoformat(), "role": text.role, "text": text.content}
        groups.setdefault(text.conversation_key, []).append(line)
    return [{"conversation" if lines[0]["role"] else "episode": lines} for lines in groups.values()]


def check_extraction(seen: Seen, answer: Extraction, job: Job) -> Plan:
    """Statements of the answer that stand in the texts, as a plan for apply_extraction."""
    entities = [Entity(e.name, e.type, e.aliases, e.description, e.existing, e.texts) for e in answer.entities]
    triples = [Triple(t.source, t.predicate, t.target, t.literal, t.confidence, t.texts) for t in answer.triples]
    known = replace(seen.known, read=seen.read, places={})
    steps, refused = plan_of(known, entities, triples, float(job.settings["extracted_confidence"]))
    return Plan(steps, len(entities) + len(triples), refused)


async def apply_extraction(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Write it, as far as the rows allow."""
    del job
    applied = Applied()
    for row in await dreams.apply_extraction(tx, plan=plan.steps):
        if row["guard"] is None:
            applied.changes.append({"action": ("create_" if row["created"] else "observe_") + row["kind"], "ids": [str(row["id"])]})
        else:
            ids = [str(row["id"])] if row["id"] else []
            applied.refused.append(Refusal(row["guard"], row["kind"], ids, OF_ROWS[row["guard"]]))
    return applied


ENTITIES = Pass(
    name="entities", prompt="entity-dream.md", answer=Extraction, look=gather_texts, check=check_extraction, apply=apply_extraction
)
