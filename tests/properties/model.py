"""What the tables must say, in plain Python: lineages whose versions have validity, and a hierarchy that has time."""

from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


class Refused(Exception):
    """The model refuses what the database must refuse."""


@dataclass
class Version:
    """A statement with its validity, [start, end)."""

    id: UUID
    lineage: str
    content: str
    start: datetime
    end: datetime
    status: str = "active"
    category: str = "general"

    def counts(self) -> bool:
        """Whether it takes room in its chain."""
        return self.status == "active" and self.start < self.end

    def holds(self, moment: datetime) -> bool:
        """Whether it is visible."""
        return self.status == "active" and self.start <= moment < self.end


@dataclass
class State:
    """All that is believed at one moment."""

    versions: list[Version] = field(default_factory=list)  # in the order of writing
    places: dict[str, list[tuple[datetime, datetime, str]]] = field(default_factory=dict)  # lineage: from, until, parent

    def copied(self) -> "State":
        """The same, which goes on by itself."""
        return State([copy(v) for v in self.versions], {node: list(steps) for node, steps in self.places.items()})

    def chain(self, lineage: str, apart_from: Version | None = None) -> list[Version]:
        """Versions of a lineage that take room, oldest first."""
        return sorted(
            (v for v in self.versions if v.lineage == lineage and v.counts() and v is not apart_from), key=lambda v: v.start
        )

    def write(self, new: Version, wrong: Version | None = None) -> None:
        """Place a version; with `wrong`, instead of that one. It inherits the category of the one written before."""
        new.category = next((v.category for v in reversed(self.versions) if v.lineage == new.lineage), "general")
        if wrong is not None:
            if not wrong.counts() or new.end < new.start:
                raise Refused
            before = [v for v in self.chain(new.lineage, wrong) if v.end == wrong.start and v.start < wrong.start]
            later = [v.start for v in self.chain(new.lineage, wrong) if v.start > wrong.start]
            if before and new.start > wrong.start:
                before[-1].end = min([new.start, *later])
            wrong.end = wrong.start
        chain = self.chain(new.lineage)
        stated = new.end
        new.end = min([new.end, *(v.start for v in chain if v.start > new.start)])
        self.versions.append(new)
        for old in chain:
            if old.start <= new.start < old.end and stated > new.start:
                if new.end < old.end:
                    self.versions.append(Version(UUID(int=0), old.lineage, old.content, new.end, old.end, category=old.category))
                old.end = new.start

    def change(self, version: Version, **values: object) -> None:
        """Set fields of a version; refused where it would be valid together with another."""
        before = {name: getattr(version, name) for name in values}
        for name, value in values.items():
            setattr(version, name, value)
        chain = self.chain(version.lineage)
        if version.end < version.start or any(a.end > b.start for a, b in pairwise(chain)):
            for name, value in before.items():
                setattr(version, name, value)
            raise Refused

    def parent(self, lineage: str, moment: datetime) -> str | None:
        """What a lineage stands under."""
        return next((parent for start, end, parent in self.places.get(lineage, []) if start <= moment < end), None)

    def above(self, lineage: str, moment: datetime) -> list[str]:
        """Everything above a lineage, nearest first."""
        found: list[str] = []
        step = self.parent(lineage, moment)
        while step is not None:
            found.append(step)
            step = self.parent(step, moment)
        return found

    def place(self, lineage: str, parent: str | None, start: datetime, end: datetime) -> None:
        """Stand under another for a stretch of time; refused where that makes a circle at any moment of it."""
        if end <= start:
            return
        moments = {start, *(s for steps in self.places.values() for s, _, _ in steps if start <= s < end)}
        if parent is not None and any(lineage in [parent, *self.above(parent, moment)] for moment in moments):
            raise Refused
        kept = []
        for s, e, p in self.places.get(lineage, []):
            kept += [(s, min(e, start), p)] if s < start else []
            kept += [(max(s, end), e, p)] if e > end else []
        self.places[lineage] = kept + ([(start, end, parent)] if parent is not None else [])

    def erase(self, lineage: str) -> None:
        """Take a lineage out, as if it had never been."""
        self.versions = [v for v in self.versions if v.lineage != lineage]
        self.places = {
            node: [step for step in steps if step[2] != lineage] for node, steps in self.places.items() if node != lineage
        }

    def visible(self, moment: datetime) -> dict[str, str]:
        """Content by lineage."""
        return {v.lineage: v.content for v in self.versions if v.holds(moment)}

    def under(self, lineage: str, moment: datetime) -> set[tuple[int, str]]:
        """Depth and content of everything visible under a lineage."""
        visible = self.visible(moment)
        lines = {other: self.above(other, moment) for other in visible}
        return {(above.index(lineage) + 1, visible[other]) for other, above in lines.items() if lineage in above}
