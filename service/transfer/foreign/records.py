"""Records that readers of foreign files yield: neutral ones, each with the place that it came from, and what has no place here."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
MOST_ERRORS = 1000  # that are listed; all are counted
MOST_KINDS = 1000  # of what is left out; and remarks
LONGEST_REASON, LONGEST_KIND = 500, 200
OTHERS = "others"


# Errors of items in shapes that nobody has described: the item is wrong, and the next one follows.
UNKNOWN_SHAPE = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError)


class Unreadable(Exception):
    """A file that cannot be imported as a whole, and why."""

    def __init__(self, reason: str, place: str = "the file") -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


@dataclass(slots=True)
class Memory:
    """A statement. `key` is its identity there; `lineage` groups versions; made and changed are the times it was written there."""

    place: str
    key: str
    content: Any
    lineage: str | None = None
    category: str | None = None
    tags: list[str] = field(default_factory=list)
    layer: int | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    made: datetime | None = None
    changed: datetime | None = None
    source: str | None = None
    about: str | None = None
    session: str | None = None
    importance: float | None = None
    confidence: float | None = None
    metadata: Json = field(default_factory=dict)
    entities: list[Json] = field(default_factory=list)
    edges: list[Json] = field(default_factory=list)
    id: str | None = None  # of Loci, where the file has one


def end_versions(versions: list[Memory]) -> None:
    """Where the last version of a lineage is over, those before it are too: each begins when it was written."""
    if versions and versions[-1].valid_to is not None:
        for version in versions:
            version.valid_from = version.valid_from or version.made or versions[-1].valid_to


@dataclass(slots=True)
class Turn:
    """A turn of a conversation."""

    place: str
    key: str
    session: str
    role: str
    content: Any
    said: datetime | None = None
    metadata: Json = field(default_factory=dict)


@dataclass(slots=True)
class Entity:
    """Something that has a name."""

    place: str
    name: Any
    type: str | None = None
    aliases: list[str] = field(default_factory=list)
    description: str | None = None
    metadata: Json = field(default_factory=dict)


@dataclass(slots=True)
class Edge:
    """A relation that no memory states."""

    place: str
    source: Any
    type: Any
    target: Any


@dataclass(slots=True)
class Link:
    """A relation of two memories, by their keys."""

    place: str
    source: str
    target: str
    type: str


Record: TypeAlias = Memory | Turn | Entity | Edge | Link


@dataclass
class ImportNotes:
    """Notes of readers beside their records: items that are wrong, left out, or have no place here."""

    errors: list[tuple[str, str]] = field(default_factory=list)
    wrong: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    no_place: Counter[str] = field(default_factory=Counter)
    remarks: dict[str, None] = field(default_factory=dict)  # each once, in their order

    @classmethod
    def from_json(cls, said: Json) -> "ImportNotes":
        """Notes of another process."""
        errors = [(place, reason) for place, reason in said["errors"]]
        return cls(errors, said["wrong"], Counter(said["skipped"]), Counter(said["no_place"]), dict.fromkeys(said["remarks"]))

    def note_error(self, place: str, reason: str) -> None:
        """An item is wrong and does not go in."""
        self.wrong += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append((place[:LONGEST_REASON], reason[:LONGEST_REASON]))

    def merge_notes(self, others: "ImportNotes") -> None:
        """Take over what others say."""
        self.errors += others.errors[: MOST_ERRORS - len(self.errors)]
        self.wrong += others.wrong
        for what, count in others.skipped.items():
            self.count_omission(what, count)
        for what, count in others.no_place.items():
            self.count_loss(what, count)
        for what in others.remarks:
            self.add_remark(what)

    def count_omission(self, what: str, count: int = 1) -> None:
        """Items were left out on purpose."""
        _count_kind(self.skipped, what, count)

    def count_loss(self, what: str, count: int = 1) -> None:
        """Something has no place in Loci."""
        _count_kind(self.no_place, what, count)

    def add_remark(self, what: str) -> None:
        """Something that readers of the report should know, said once."""
        if len(self.remarks) < MOST_KINDS:
            self.remarks[what[:LONGEST_REASON]] = None


def _count_kind(kinds: Counter[str], what: str, count: int) -> None:
    """Count a kind; a file that has more kinds than anybody reads has others."""
    if count:
        what = what[:LONGEST_KIND]
        kinds[what if what in kinds or len(kinds) < MOST_KINDS else OTHERS] += count
