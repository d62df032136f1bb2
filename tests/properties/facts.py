"""A plain model of facts in two times: what was said of each, what it rests on, and which decision ends which."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field

FOREVER = 100_000
NOW = 5_000  # a step later than all that is spoken of
Pair = tuple[int, int]  # the older fact, the newer one


@dataclass
class Memory:
    """What facts rest on."""

    start: int
    end: int = FOREVER
    forgotten: bool = False
    replaced: bool = False  # by a version of its lineage

    def shows(self) -> bool:
        return not self.forgotten and self.start < self.end


@dataclass
class Fact:
    """What was said of a fact."""

    start: int
    end: int  # as stated
    memory: int | None
    entity: str
    deleted: bool = False
    ended: bool = False  # by hand, from now on


@dataclass
class State:
    """All that is believed at a moment of recorded time. Facts by their number, in the order of writing."""

    facts: dict[int, Fact] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    decisions: dict[Pair, str] = field(default_factory=dict)
    by_hand: set[Pair] = field(default_factory=set)  # decisions that did not come of a write
    merged: bool = False

    def copied(self) -> "State":
        return State(
            {n: copy(f) for n, f in self.facts.items()},
            {n: copy(m) for n, m in self.memories.items()},
            dict(self.decisions),
            set(self.by_hand),
            self.merged,
        )

    def own_end(self, number: int) -> int:
        """Until when a fact holds, whatever superseded it."""
        fact = self.facts[number]
        memory = None if fact.memory is None else self.memories[fact.memory]
        if memory is not None and not memory.shows():
            return fact.start
        return max(fact.start, min(fact.end, NOW if fact.ended else FOREVER, FOREVER if memory is None else memory.end))

    def stands(self, number: int) -> bool:
        return not self.facts[number].deleted and self.own_end(number) > self.facts[number].start

    def successor(self, number: int) -> int | None:
        """The first of the facts that end this one."""
        fact, own = self.facts[number], self.own_end(number)
        newer = [
            n
            for (older, n), status in self.decisions.items()
            if older == number and status == "applied" and self.stands(n) and max(fact.start, self.facts[n].start) < own
        ]
        return None if fact.deleted else min(newer, key=lambda n: (self.facts[n].start, n), default=None)

    def end(self, number: int) -> int:
        newer = self.successor(number)
        return self.own_end(number) if newer is None else max(self.facts[number].start, self.facts[newer].start)

    def status(self, number: int) -> str:
        fact = self.facts[number]
        memory = None if fact.memory is None else self.memories[fact.memory]
        over = memory is not None and (memory.replaced or not memory.shows())
        if fact.deleted:
            return "deleted"
        return "superseded" if fact.ended or over or self.successor(number) is not None else "active"

    def holds(self, number: int, moment: float) -> bool:
        fact = self.facts[number]
        return not fact.deleted and fact.start <= moment < self.end(number)

    def place(self, number: int) -> str:
        """Under which entity a fact stands."""
        return "Ann" if self.merged else self.facts[number].entity

    def compare(self, number: int, apart_from: int | None = None) -> None:
        """Decide what a fact ends, and what ends it, as at its write: in this aspect one holds at each moment."""
        fact, end = self.facts[number], self.end(number)
        if fact.deleted or end <= fact.start:
            return
        found: dict[int, list[tuple[bool, int, int]]] = {}
        for other, sibling in self.facts.items():
            if other in (number, apart_from) or sibling.deleted or self.place(other) != self.place(number):
                continue
            its_end = self.end(other)
            if its_end <= sibling.start or its_end <= fact.start or end <= sibling.start:
                continue
            older, newer = sorted((number, other), key=lambda n: (self.facts[n].start, n))
            if {self.decisions.get((older, newer)), self.decisions.get((newer, older))} <= {None, "proposed"}:
                sure = self.own_end(newer) == FOREVER or self.end(older) <= self.own_end(newer)
                found.setdefault(older, []).append((not sure, self.facts[newer].start, newer))
        for older, rivals in found.items():
            unsure, _, newer = min(rivals)
            if not unsure or (older, newer) not in self.decisions:
                self.decisions[older, newer] = "proposed" if unsure else "applied"

    def change(self, numbers: list[int], work: Callable[["State"], None], compare: bool = True) -> None:
        """Do something to facts; they, and what they end, follow, and what comes back is compared."""
        touched = sorted({*numbers, *(o for (o, n), s in self.decisions.items() if n in numbers and s == "applied")})
        before = {n: (self.facts[n].deleted, self.end(n)) for n in touched}
        work(self)
        touched = [n for n in touched if n in self.facts]
        more = [
            n
            for n in touched
            if not self.facts[n].deleted and self.end(n) > self.facts[n].start and (before[n][0] or self.end(n) > before[n][1])
        ]
        for number in more if compare else []:
            self.compare(number)

    def resting_on(self, memory: int) -> list[int]:
        return [n for n, f in self.facts.items() if f.memory == memory]

    def erase(self, memory: int) -> None:
        """A memory goes, and what rests on it, as if it had never been."""
        gone = self.resting_on(memory)
        self.facts = {n: f for n, f in self.facts.items() if n not in gone}
        self.decisions = {pair: s for pair, s in self.decisions.items() if not {*pair} & {*gone}}
        self.memories.pop(memory, None)
