"""Guards of the extraction of entities: a model's reading must stand in the texts that it cites. Pure."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from db.dreams import CatalogueEntity
from loci.models.types import canonical_type
from service.dreams.passes import Refusal
from service.text.guards import find_invented_marks
from service.text.marks import Read, Readings
from service.text.proper_nouns import UNSPACED

LONGEST_NAME, LONGEST_PREDICATE, LONGEST_LITERAL, LONGEST_DESCRIPTION = 255, 64, 1000, 500
LONGEST_QUOTE, TELLING, ROOT = 100, 3, 5  # characters: of a quote, of a word that tells something, and of what its forms share
WORD = re.compile(r"\w+")
_UNSPACED = UNSPACED.pattern.removeprefix("[").removesuffix("]")


@dataclass(frozen=True)
class Text:
    """A turn of a conversation (`role`), or an episode (`memory_id`)."""

    content: str
    at: datetime
    session_id: str | None = None
    memory_id: UUID | None = None
    role: str | None = None

    @property
    def conversation_key(self) -> tuple[str, str]:
        """The conversation that it is part of; an episode is one of its own."""
        return ("memory", str(self.memory_id)) if self.memory_id else ("session", str(self.session_id))


@dataclass(frozen=True)
class ExtractionInput:
    """The data that the model was shown: texts and entities by number, and the types that it may give.

    `names`: texts and names of it all in the form in which names are compared; `read` gives it of others.
    """

    texts: dict[int, Text]
    catalogue: dict[int, CatalogueEntity]
    types: frozenset[str]
    names: dict[str, str] = field(default_factory=dict)
    read: Read = field(default_factory=Readings)
    places: dict[str, frozenset[int]] = field(default_factory=dict)  # positions of names that were looked up so far

    def canonical_name(self, text: str) -> str:
        """A text as names are compared."""
        return self.names[text] if text in self.names else self.read(text).name

    def folded_text(self, number: int) -> str:
        """A text, as names are compared."""
        return self.canonical_name(self.texts[number].content)

    def texts_with_name(self, name: str) -> frozenset[int]:
        """Numbers of the texts in which a canonical name stands."""
        if name not in self.places:
            self.places[name] = frozenset(
                number for number in self.texts if name in self.folded_text(number) and stands_in(name, self.folded_text(number))
            )
        return self.places[name]

    def number_of(self, name: str) -> int | None:
        """The number of the catalogue's entity with this canonical name or alias; the name wins."""
        return self.by_name.get(name, self.by_alias.get(name))

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Numbers of the catalogue by canonical name."""
        return {self.canonical_name(row["name"]): number for number, row in self.catalogue.items()}

    @cached_property
    def by_alias(self) -> dict[str, int]:
        """The same by alias; the first has it."""
        return {self.canonical_name(alias): number for number, row in reversed(self.catalogue.items()) for alias in row["aliases"]}

    @cached_property
    def texts_by_conversation(self) -> dict[tuple[str, str], frozenset[int]]:
        """Numbers of the texts of each conversation, and of each episode."""
        found: dict[tuple[str, str], set[int]] = {}
        for number, text in self.texts.items():
            found.setdefault(text.conversation_key, set()).add(number)
        return {group: frozenset(numbers) for group, numbers in found.items()}

    @cached_property
    def episode_text(self) -> str:
        """All that the episodes say."""
        return "\n".join(self.folded_text(number) for number, text in self.texts.items() if text.memory_id)

    def quote_model(self, said: str) -> str:
        """The model's words for a report, shortened, without words that occur in episodes, because reports outlive memories."""
        words = (word for word in WORD.findall(self.canonical_name(said)) if len(word) >= TELLING or word.isdigit())
        return "“…”" if any(word[:ROOT] in self.episode_text for word in words) else f"“{' '.join(said.split())[:LONGEST_QUOTE]}”"


@dataclass
class Entity:
    """A named thing as the model states it."""

    name: str
    type: str
    aliases: Sequence[str]
    description: str | None
    existing: int | None
    texts: Sequence[int]


@dataclass
class Triple:
    """A relation as the model states it."""

    source: str | int
    predicate: str
    target: str | int | None
    literal: str | None
    confidence: float
    texts: Sequence[int]


def stands_in(name: str, folded: str) -> bool:
    """Whether a canonical name stands in a folded text as whole words.

    A side that ends in no letter, or in a script without spaces, needs no word boundary.
    """
    before = r"(?<!\w)" if name[:1].isalnum() and not UNSPACED.match(name[0]) else ""
    after = r"(?!\w)" if name[-1:].isalnum() and not UNSPACED.match(name[-1]) else ""
    if UNSPACED.search(folded):
        before, after = before and rf"(?<![^\W{_UNSPACED}])", after and rf"(?![^\W{_UNSPACED}])"
    return re.search(before + re.escape(name) + after, folded) is not None


@dataclass
class _Named:
    """An entity of the plan: what it is called, and what is to be written of it."""

    key: int
    names: set[str]
    item: dict[str, Any]
    texts: set[int] = field(default_factory=set)  # where it was read


@dataclass
class _Reader:
    known: ExtractionInput
    cap: float
    named: list[_Named] = field(default_factory=list)
    by_name: dict[str, _Named] = field(default_factory=dict)
    by_number: dict[int, _Named] = field(default_factory=dict)
    edges: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)

    def refuse_item(self, guard: str, action: str, said: str, reason: str) -> None:
        self.refused.append(Refusal(guard, action, [], f"{self.known.quote_model(said)} {reason}"))

    def entity_of(self, number: int) -> _Named:
        """The entity of the plan that stands for one of the catalogue."""
        if number not in self.by_number:
            row = self.known.catalogue[number]
            names = {self.known.canonical_name(name) for name in (row["name"], *row["aliases"])}
            self.by_number[number] = self.add_entity(names, {"id": str(row["id"]), "name": row["name"]})
        return self.by_number[number]

    def add_entity(self, names: set[str], item: dict[str, Any]) -> _Named:
        made = _Named(len(self.named), names, item)
        self.named.append(made)
        for name in names:
            self.by_name.setdefault(name, made)
        return made

    def texts_naming_entity(self, found: _Named) -> set[int]:
        """Numbers of the texts that name an entity."""
        return set().union(*(self.known.texts_with_name(name) for name in found.names))

    def read_entity(self, stated: Entity) -> None:
        """A name counts in the texts that contain it; a known entity in those that contain one of its names."""
        name = self.known.canonical_name(stated.name)
        number = stated.existing if stated.existing is not None else self.known.number_of(name)
        found = self.by_name.get(name)
        if number is not None and number in self.known.catalogue:
            found = self.entity_of(number)
        places = set(stated.texts) & (self.texts_naming_entity(found) if found else self.known.texts_with_name(name))
        if len(stated.name) > LONGEST_NAME or not any(letter.isalnum() for letter in name):
            self.refuse_item("name", "entity", stated.name, "is no name")
        elif number is not None and number not in self.known.catalogue:
            self.refuse_item("number", "entity", stated.name, f"refers to {number}, which the catalogue does not have")
        elif not places:
            self.refuse_item("invented", "entity", stated.name, "stands in none of the texts that it was read in")
        else:
            self.describe_entity(found or self.add_entity({name}, {"name": " ".join(stated.name.split())}), stated, places)

    def describe_entity(self, found: _Named, stated: Entity, places: set[int]) -> None:
        """Note the model's statements about an entity of the plan, as far as texts that name it support them."""
        item = found.item
        found.texts |= places
        for alias in (stated.name, *stated.aliases):
            self.add_alias(found, alias, places)
        kind = canonical_type(stated.type)
        if kind in self.known.types:
            item.setdefault("type", kind)
        elif kind != "unknown":
            self.refuse_item("type", "type", stated.type, "is no type in use: the entity is left unknown")
        said = (stated.description or "").strip()
        if said and (
            len(said) > LONGEST_DESCRIPTION or self.find_unsupported_words(said, places, [stated.name, *item.get("aliases", [])])
        ):
            self.refuse_item("invented", "description", said, "says more than the texts")
        elif said:
            item.setdefault("description", said)

    def add_alias(self, found: _Named, alias: str, places: set[int]) -> None:
        """Another name counts where it stands beside one that the entity has, and nothing else has it."""
        name = self.known.canonical_name(alias)
        if not name or name in found.names:
            return
        if name in self.by_name or self.known.number_of(name) is not None:
            self.refuse_item("alias", "alias", alias, "is another entity's name")
        elif len(alias) > LONGEST_NAME or not places & self.known.texts_with_name(name):
            self.refuse_item("invented", "alias", alias, "stands in no text beside the name that it is to be another of")
        else:
            found.names.add(name)
            self.by_name[name] = found
            found.item.setdefault("aliases", []).append(" ".join(alias.split()))

    def find_unsupported_words(self, said: str, places: Iterable[int], allowed: Iterable[str] = ()) -> list[str]:
        """Names and numbers that none of these texts has."""
        return find_invented_marks(self.known.read, [self.known.texts[number].content for number in sorted(places)], said, allowed)

    def resolve_edge_end(self, ref: str | int) -> _Named | None:
        """The entity that an end of a triple means."""
        name = "" if isinstance(ref, int) else self.known.canonical_name(ref)
        number = ref if isinstance(ref, int) else self.known.number_of(name)
        if name in self.by_name:
            return self.by_name[name]
        return self.entity_of(number) if number is not None and number in self.known.catalogue else None

    def read_triple(self, stated: Triple) -> None:
        said = f"{stated.source} {stated.predicate} {stated.literal if stated.target is None else stated.target}"
        predicate = re.sub(r"\W+", "_", stated.predicate.strip().lower()).strip("_")
        source, target = (
            self.resolve_edge_end(stated.source),
            None if stated.target is None else self.resolve_edge_end(stated.target),
        )
        if not predicate[:1].isalpha() or len(predicate) > LONGEST_PREDICATE:
            self.refuse_item("predicate", "edge", stated.predicate, "is no predicate")
        elif (stated.target is None) == (stated.literal is None) or not math.isfinite(stated.confidence):
            self.refuse_item("form", "edge", said, "is not one triple")
        elif source is None or (stated.target is not None and target is None):
            self.refuse_item("end", "edge", said, "has an end that is neither among the entities nor in the catalogue")
        elif source is target:
            self.refuse_item("loop", "edge", said, "has one entity at both ends")
        elif not (places := self.said_in(source, target, stated)):
            self.refuse_item("invented", "edge", said, "is said in no conversation that it was read in")
        else:
            literal = None if stated.literal is None else stated.literal.strip()
            key = (source.key, predicate, target.key if target else None, literal)
            edge = self.edges.setdefault(key, {"confidence": 0.0, "texts": set()})
            edge["confidence"] = max(edge["confidence"], min(max(stated.confidence, 0.0), self.cap))
            edge["texts"] |= places

    def said_in(self, source: _Named, target: _Named | None, stated: Triple) -> set[int]:
        """Cited texts of conversations and episodes that name every end, one of them in what is cited, and hold the plain value."""
        ends = [self.texts_naming_entity(end) for end in (source, target) if end]
        kept: set[int] = set()
        for numbers in self.known.texts_by_conversation.values():
            cited = numbers & set(stated.texts)
            if cited and all(numbers & end for end in ends) and any(cited & end for end in ends):
                kept |= cited if stated.literal is None or self.texts_support_value(cited, stated.literal) else set()
        return kept

    def texts_support_value(self, places: Iterable[int], literal: str) -> bool:
        """Whether texts have every word, name and number of a plain value."""
        wanted = set(WORD.findall(self.known.canonical_name(literal)))
        words = {word for number in places for word in WORD.findall(self.known.folded_text(number))}
        whole = any(self.known.canonical_name(literal) in self.known.folded_text(number) for number in places)
        return (
            bool(wanted)
            and len(literal) <= LONGEST_LITERAL
            and (whole or wanted <= words)
            and not self.find_unsupported_words(literal, places)
        )


def _evidence_by_conversation(known: ExtractionInput, places: Iterable[int], *, first: bool) -> list[dict[str, Any]]:
    """One piece of evidence for each conversation and episode, dated by its first text or its last."""
    groups: dict[tuple[str, str], list[Text]] = {}
    for number in sorted(places):
        groups.setdefault(known.texts[number].conversation_key, []).append(known.texts[number])
    return [
        {
            "session_id": said[0].session_id,
            "memory_id": str(said[0].memory_id) if said[0].memory_id else None,
            "at": (min if first else max)(text.at for text in said).isoformat(),
        }
        for said in groups.values()
    ]


def plan_of(
    known: ExtractionInput, entities: Iterable[Entity], triples: Iterable[Triple], cap: float
) -> tuple[dict[str, Any], list[Refusal]]:
    """A plan for loci_api.apply_extraction, and what was refused. `cap`: the most that a model's word is worth."""
    reader = _Reader(known, cap)
    for entity in entities:
        reader.read_entity(entity)
    for triple in triples:
        reader.read_triple(triple)
    edges = [
        {
            "source": source,
            "type": predicate,
            "target": target,
            "literal": literal,
            "confidence": edge["confidence"],
            "evidence": _evidence_by_conversation(known, edge["texts"], first=False),
        }
        for (source, predicate, target, literal), edge in reader.edges.items()
    ]
    named = [
        {"key": one.key, **one.item, "evidence": _evidence_by_conversation(known, one.texts, first=True)} for one in reader.named
    ]
    return {"entities": named, "edges": edges}, reader.refused
