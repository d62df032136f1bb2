"""What must be true, in plain Python, and the book of what was asked."""

import threading
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tests.properties.model import LAST, State, Version


@dataclass
class Ledger:
    """Promises, by row of docs/requirements.md: how often one was asked, and what was wrong."""

    asked: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    seconds: list[tuple[int, str, float]] = field(default_factory=list)  # month, verb, how long
    month: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, row: str, right: bool, said: object = "") -> None:
        """Note an answer; of a wrong one what it was."""
        with self._lock:
            self.asked[row] += 1
            if not right:
                self.wrong.setdefault(row, []).append(f"month {self.month}: {said}"[:500])

    def took(self, verb: str, seconds: float) -> None:
        """Note how long a call took."""
        with self._lock:
            self.seconds.append((self.month, verb, seconds))

    def faults(self) -> int:
        """How many answers were wrong."""
        return sum(map(len, self.wrong.values()))


@dataclass
class Story:
    """One lineage, which one agent tells: all that was said of it, and what was believed when."""

    lineage: str
    question: str
    state: State = field(default_factory=State)
    beliefs: list[tuple[datetime, list[Version]]] = field(default_factory=list)
    told_again: bool = True  # only written to: what was believed at a moment is what was written by then

    def at(self, moment: datetime) -> str | None:
        """What is true at a moment, as is believed now."""
        return next((version.content for version in self.state.versions if version.holds(moment)), None)

    def now(self) -> Version | None:
        """The version that holds last and is open."""
        return next((version for version in self.state.versions if version.status == "active" and version.end == LAST), None)

    def tell(self, id: UUID, content: str, start: datetime, recorded: datetime, wrong: Version | None = None) -> None:
        """A version was written, or corrects one."""
        self.state.write(Version(id, self.lineage, content, start, LAST), wrong)
        self.beliefs.append((recorded, deepcopy(self.state.versions)))

    def believed(self, nth: int, moment: datetime) -> str | None:
        """What was believed to be true at a moment after the nth thing that was told."""
        return next((version.content for version in self.beliefs[nth][1] if version.holds(moment)), None)


@dataclass
class Team:
    """Agents that share a namespace."""

    number: int
    agents: int = 0
    stories: list[Story] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # of every memory that was acknowledged
    told: Counter[str] = field(default_factory=Counter)  # ids that the feed told of
    cursor: str = "0"
    erased: list[str] = field(default_factory=list)  # words that must be nowhere
    chatter: int = 0

    @property
    def name(self) -> str:
        """Its namespace."""
        return f"team-{self.number}"

    @property
    def mark(self) -> str:
        """A word that all its memories hold and no other's."""
        return f"mk{self.number:02}mk"
