"""Where memories belong, as a model sees it, and what of that stands up to the guards.

The model sees orphans and concepts by number and proposes places, new concepts, links and summaries. Refused proposals are left
out, and the rules decide about them. The database checks the rest again, row by row.
"""

import re
from dataclasses import asdict, dataclass, field
from typing import Annotated

from pydantic import Field

from db.pool import JsonObject
from service.dreams.passes import Refusal
from service.llm.answer_parsing import Answer
from service.llm.schemas import mark_bounded_list, mark_shown_number, share, text_of
from service.text.guards import find_invented_marks, kept_share
from service.text.marks import Read

TITLE, SUMMARY = 80, 1000  # characters
SAID = 0.5  # share of a summary's words that the memories under the concept must have
LINKS = 3  # a memory of the page
_TYPE = re.compile(r"[^\w]+")
Memory = Annotated[int, mark_shown_number("memories")]
Concept = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": 999})]


class NewConcept(Answer):
    """A domain or concept that is to be made."""

    number: Concept = Field(description="One that is not in use")
    title: str = text_of(TITLE, least=30)
    layer: int = Field(description="0 domain, 1 concept", json_schema_extra={"enum": [0, 1]})
    under: Concept | None = Field(None, description="Number of a domain")


class Place(Answer):
    """Where a memory belongs."""

    memory: Memory
    concept: Concept


class Link(Answer):
    """A link between two memories."""

    source: Memory
    target: Memory
    type: str = text_of(64, least=20, default="related_to")
    strength: float = share(0.5, description="0 to 1")


class Summary(Answer):
    """Names and numbers of the memories under a concept."""

    concept: Concept
    summary: str = text_of(SUMMARY, least=100)


class Reflection(Answer):
    """The plan."""

    concepts: list[NewConcept] = mark_bounded_list("memories", default_factory=list)
    places: list[Place] = mark_bounded_list("memories", least=1, default_factory=list)
    links: list[Link] = mark_bounded_list("memories", LINKS, default_factory=list)
    summaries: list[Summary] = mark_bounded_list("memories", default_factory=list)


@dataclass
class _Concept:
    """A concept that there is (id) or that is to be made (key), and the texts that will stand under it."""

    title: str
    layer: int
    id: str | None = None
    key: str | None = None
    under: Concept | None = None
    may_summarise: bool = True
    texts: list[str] = field(default_factory=list)
    new: int = 0  # how many orphans come under it
    summary: str | None = None


def orphans_shown(orphans: list[JsonObject], concepts: list[JsonObject]) -> JsonObject:
    """The data for the model, by number."""
    numbers = {concept["lineage"]: number for number, concept in enumerate(concepts, 1)}
    memories = []
    for number, orphan in enumerate(orphans, 1):
        shown = {"number": number, "text": orphan["content"], "category": orphan["category"]}
        place = {"place": numbers.get(orphan["parent"], orphan["parent"])} if orphan["is_certain"] else {}
        memories.append({**shown, **place})
    said = []
    for concept in concepts:
        shown = {"number": numbers[concept["lineage"]], "title": concept["title"], "layer": concept["layer"]}
        members = {"members": concept["members"]} if concept["may_summarise"] else {}
        said.append({**shown, "under": numbers.get(concept["parent"]), **members})
    return {"memories": memories, "concepts": said}


class Plan:
    """A model's answer about orphans, checked: `to_database` is what loci_api.reflect takes, `refused` what a guard held back."""

    def __init__(
        self, orphans: list[JsonObject], concepts: list[JsonObject], answer: Reflection, settings: JsonObject, read: Read
    ) -> None:
        self.refused: list[Refusal] = []
        self._read = read
        self._orphans = dict(enumerate(orphans, 1))
        self._concepts = {
            number: _Concept(
                row["title"], row["layer"], id=row["id"], may_summarise=row["may_summarise"], texts=list(row["members"])
            )
            for number, row in enumerate(concepts, 1)
        }
        self._same: dict[int, int] = {}  # a new one that is there already
        self._smallest = settings["reflect_new"]
        self._add_concepts(answer.concepts)
        self._places = self._check_placements(answer.places)
        self._place_certain(concepts)
        self._drop_small()
        self._check_summaries(answer.summaries)
        self._links = self._check_links(answer.links)

    @property
    def to_database(self) -> JsonObject:
        """The plan in the form that the database takes."""
        there = {number: one for number, one in self._concepts.items() if one.id is not None}
        made = {number: one for number, one in self._concepts.items() if one.key is not None}
        places = []
        for memory, concept in self._places.items():
            one = self._concepts[concept]
            place = {"parent_id": one.id} if one.id is not None else {"key": one.key}
            places.append({"memory_id": self._orphans[memory]["id"], **place})
        return {
            "concepts": [self._describe_concept(one) for one in made.values()],
            "places": places,
            "links": self._links,
            "summaries": [{"memory_id": one.id, "summary": one.summary} for one in there.values() if one.summary],
        }

    def _describe_concept(self, one: _Concept) -> JsonObject:
        above = self._concepts.get(one.under) if one.under is not None else None
        parent = {} if above is None else {"parent_id": above.id} if above.id is not None else {"parent_key": above.key}
        return {"key": one.key, "title": one.title, "layer": one.layer, "summary": one.summary, **parent}

    def _refuse_step(self, guard: str, action: str, ids: list[str], reason: str) -> None:
        self.refused.append(Refusal(guard, action, ids, reason))

    def _check_number(self, number: int) -> int:
        return self._same.get(number, number)

    def _add_concepts(self, proposed: list[NewConcept]) -> None:
        titles = {one.title.casefold(): number for number, one in self._concepts.items()}
        for new in proposed:
            title = " ".join(new.title.split())
            if not title or len(title) > TITLE or "\x00" in title or new.layer not in (0, 1) or new.number in self._concepts:
                self._refuse_step("form", "concept", [], "a title of one line, layer 0 or 1 and a free number are needed")
            elif (there := titles.get(title.casefold())) is not None:
                self._same[new.number] = there
            else:
                self._concepts[new.number] = _Concept(title, new.layer, key=str(new.number), under=new.under)
                titles[title.casefold()] = new.number
        for one in self._concepts.values():
            above = None if one.under is None else self._concepts.get(self._check_number(one.under))
            one.under = (
                self._check_number(one.under) if one.under is not None and above is not None and above.layer < one.layer else None
            )

    def _check_placements(self, proposed: list[Place]) -> dict[int, int]:
        places: dict[int, int] = {}
        for place in proposed:
            orphan, number = self._orphans.get(place.memory), self._check_number(place.concept)
            if orphan is None or number not in self._concepts or place.memory in places:
                self._refuse_step("form", "place", [], "there is no such memory or concept, or it has a place already")
            elif orphan["is_certain"]:
                self._refuse_step("category", "place", [str(orphan["id"])], "its category says where it stands")
            else:
                places[place.memory] = number
        for memory, number in places.items():
            self._add_concept(number, self._orphans[memory]["content"])
        return places

    def _place_certain(self, concepts: list[JsonObject]) -> None:
        """Orphans of which the rules are certain come under a concept too, and a summary may say them."""
        numbers = {row["lineage"]: number for number, row in enumerate(concepts, 1)}
        for orphan in self._orphans.values():
            if orphan["is_certain"] and (number := numbers.get(orphan["parent"])) is not None:
                self._add_concept(number, orphan["content"])

    def _add_concept(self, number: int, text: str) -> None:
        self._concepts[number].new += 1
        self._concepts[number].texts.append(text)

    def _drop_small(self) -> None:
        """New concepts need members, and titles that say what these say."""
        for number, one in list(self._concepts.items()):
            if one.key is None:
                continue
            texts = one.texts or [text for other in self._concepts.values() if other.under == number for text in other.texts]
            new = find_invented_marks(self._read, texts, one.title)
            below = any(other.under == number and other.new >= self._smallest for other in self._concepts.values())
            if one.new < self._smallest and not below:
                self._refuse_step(
                    "small", "concept", [], f"{one.new} memories come under it, {self._smallest} are needed (reflect_new)"
                )
            elif new:
                self._refuse_step("invented", "concept", [], f"no memory under it says {', '.join(new[:5])}")
            else:
                continue
            del self._concepts[number]
            self._places = {memory: concept for memory, concept in self._places.items() if concept != number}

    def _check_summaries(self, proposed: list[Summary]) -> None:
        for summary in proposed:
            one = self._concepts.get(self._check_number(summary.concept))
            text = " ".join(summary.summary.split())
            if one is None or not text or one.summary is not None:
                continue
            why = self._no_summary(one, text)
            if why is None:
                one.summary = text
            else:
                self._refuse_step(why[0], "summary", [] if one.id is None else [str(one.id)], why[1])

    def _no_summary(self, one: _Concept, text: str) -> tuple[str, str] | None:
        """Guard and reason for which a concept gets no summary; None: it does."""
        if not one.may_summarise:
            return "written", "somebody wrote it, or it is protected"
        if not one.new:
            return "unchanged", "nothing new comes under it"
        if len(text) > SUMMARY or "\x00" in text:
            return "length", f"{len(text):,} characters, {SUMMARY:,} are allowed"
        sources = [*one.texts, one.title]
        if new := find_invented_marks(self._read, sources, text):
            return "invented", f"no memory under it says {', '.join(new[:5])}"
        if (share := kept_share(self._read, text, "\n".join(sources))) < SAID:
            return "invented", f"the memories under it have {share:.0%} of its words"
        return None

    def _check_links(self, proposed: list[Link]) -> list[JsonObject]:
        links = []
        for link in proposed[: LINKS * len(self._orphans)]:
            source, target = self._orphans.get(link.source), self._orphans.get(link.target)
            kind = _TYPE.sub("_", link.type.strip().lower()).strip("_")[:64]
            if source is None or target is None or source is target or not kind:
                self._refuse_step("form", "link", [], "two memories of the page and a type are needed")
                continue
            strength = min(max(link.strength, 0.0), 1.0) if link.strength == link.strength else 0.5
            links.append({"source_id": source["id"], "target_id": target["id"], "type": kind, "strength": strength})
        return links

    def list_refusals(self) -> list[JsonObject]:
        """Refusals, as reports have them."""
        return [asdict(refusal) for refusal in self.refused]
