"""A plain model of the graph's two times: who said what when, and what follows from it, on a calendar of five-day steps."""

import math
from dataclasses import dataclass, field, replace

STEPS = 40  # that are spoken of and asked about
FOREVER = STEPS + 30
LAST = FOREVER - 1  # when what is told now is told
DAYS = 5  # of a step
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Said:
    """An observation: at a step, from when until when the edge holds where that was stated, how sure, in which conversation."""

    triple: Triple  # as its ends were when it was written
    at: int
    start: int | None
    end: int | None
    confidence: float
    session: str | None
    mode: str
    order: int  # of recording
    memory: int | None = None  # that shows it
    correction: bool = False  # and no observation; confidence below 0: it leaves that
    corrects: tuple[int, int] | None = None  # the steps for which its start and end stand
    keeps_end: bool = False  # that of what it corrects

    def speaks_of(self, spell: tuple[int, int]) -> bool:
        first = self.start if self.start is not None else min(self.at, self.at if self.end is None else self.end)
        last = self.end if self.end is not None else self.start if self.start is not None else self.at
        return first <= (math.inf if spell[1] == FOREVER else spell[1]) and last >= spell[0]


@dataclass(frozen=True)
class Shown:
    """An edge at a moment."""

    confidence: float
    observations: int
    spell: tuple[int, int]
    last: int | None


@dataclass
class State:
    """All that was said and is believed at a moment of recorded time."""

    said: list[Said] = field(default_factory=list)
    merged: dict[str, str] = field(default_factory=dict)
    beside: set[tuple[Triple, Triple]] = field(default_factory=set)
    forgotten: set[int] = field(default_factory=set)  # memories
    corrected: set[int] = field(default_factory=set)
    ends: dict[int, int] = field(default_factory=dict)  # until when memories are true

    def stands_for(self, name: str) -> str:
        while name in self.merged:
            name = self.merged[name]
        return name

    def now(self, triple: Triple) -> Triple:
        return self.stands_for(triple[0]), triple[1], self.stands_for(triple[2])

    def edges(self, *, forgotten: bool = False) -> dict[Triple, list[Said]]:
        """What is said of each edge; with what only forgotten memories say, or without."""
        found: dict[Triple, list[Said]] = {}
        for one in sorted(self.said, key=lambda one: (one.at, one.order)):
            if one.memory in self.forgotten | self.corrected and not forgotten:
                continue
            source, _, target = triple = self.now(one.triple)
            if source != target or one.triple[0] == one.triple[2]:  # a merge makes no edge from an entity to itself
                found.setdefault(triple, []).append(one)
        return found

    def delete(self, triple: Triple) -> None:
        self.said = [one for one in self.said if one not in self.edges(forgotten=True).get(triple, [])]
        self.beside = {pair for pair in self.beside if triple not in {self.now(one) for one in pair}}

    def erase(self, memory: int) -> None:
        self.said = [one for one in self.said if one.memory != memory]
        shown = {self.now(one.triple) for one in self.said if not one.correction}
        self.said = [one for one in self.said if self.now(one.triple) in shown]
        there = {self.now(one.triple) for one in self.said}
        self.beside = {pair for pair in self.beside if {self.now(one) for one in pair} <= there}

    def correct(self, triple: Triple, start: int | None, end: int | None, confidence: float, order: int, *, open_: bool) -> bool:
        """Correct the last spell of an edge, as it is without its rivals; false: there is none, or it would end before it begins."""
        corrects, keeps = None, end is None and not open_
        if start is not None or end is not None or open_:
            steps = self.spells("", {triple: self.edges().get(triple, [])})[triple]
            if not steps:
                return False
            spell = run(steps, max(steps))
            start = spell[0] if start is None else start
            end = None if open_ else spell[1] if end is None else end
            end = None if end == FOREVER else end
            if end is not None and end < start:
                return False
            corrects = spell[0], FOREVER
        self.said.append(Said(triple, LAST, start, end, confidence, None, "", order, None, True, corrects, keeps))
        return True

    def spells(self, single: str, edges: dict[Triple, list[Said]] | None = None) -> dict[Triple, set[int]]:
        """The steps in which each edge holds; those of a source with the type `single` are rivals. What a memory says ends with it."""
        edges = self.edges() if edges is None else edges
        beside = {frozenset(map(self.now, pair)) for pair in self.beside}
        held: dict[Triple, set[int]] = {triple: set() for triple in edges}
        heard: dict[Triple, set[int]] = {triple: set() for triple in edges}  # as if no memory ended
        wrong: dict[Triple, set[int]] = {triple: set() for triple in edges}  # said of what is corrected later
        told = sorted(
            ((one, triple) for triple, all_said in edges.items() for one in all_said), key=lambda t: (t[0].at, t[0].order)
        )
        for place, (spoken, triple) in enumerate(told):
            one, pauses = spoken, set[int]()
            own, limit = heard[triple], FOREVER if one.memory is None else self.ends.get(one.memory, FOREVER)
            start = one.start
            later = {s for other, its in told[place + 1 :] if its == triple and other.corrects for s in range(*other.corrects)}
            shown = wrong[triple] & set(range(*one.corrects or (0, 0)))
            if one.correction and not shown:
                continue
            if one.corrects and one.keeps_end:  # it ends with those that speak of it
                last = max(shown) + 1
                one, pauses = replace(one, end=None if last == FOREVER else last), set(range(min(shown), last)) - shown
            if start is None and not (one.end is not None and one.end <= one.at):
                start = one.at
            if one.end is not None and (start is None or one.end > start) and {one.end - 1, one.end} <= own:
                cut = set(range(one.end, run(own, one.end)[1]))
                own -= cut
                held[triple] -= cut
            if start is None or (one.end is not None and one.end <= start):
                continue
            rivals = [
                other
                for other in edges
                if other != triple and other[:2] == triple[:2] == (triple[0], single) and frozenset((other, triple)) not in beside
            ]
            after = [s for other in rivals for s in held[other] if s > start and s - 1 not in held[other]]
            bound, sure = min(after, default=FOREVER), max(start, one.at)
            if one.end is not None:
                until = one.end
            elif sure in own:
                until = run(own, sure)[1]
            else:
                until = min((s for s in own if s > sure), default=FOREVER)
            said = set(range(start, min(until, bound)))
            wrong[triple] |= {step for step in set(range(start, until)) & later if step < limit}
            own |= said - later
            gained = {step for step in said - later if step < limit} - held[triple] - pauses
            held[triple] |= gained
            for other in rivals:
                held[other] -= gained
                heard[other] -= gained
        return held

    def shown(self, moment: int, single: str) -> dict[Triple, Shown]:
        """The edges that hold at a moment, faded or not."""
        found = {}
        for triple, steps in self.spells(single).items():
            if moment not in steps:
                continue
            evidence, spell = [one for one in self.edges()[triple] if not one.correction], run(steps, moment)
            stated = [one.confidence for one in self.edges()[triple] if one.correction and one.confidence >= 0]
            seen = [one for one in evidence if one.at <= moment]
            first = next((one for one in evidence if one.speaks_of(spell)), evidence[0])
            if seen and (first.at <= moment or not first.speaks_of(spell)):
                confidence, since = figures(seen)
                worth = confidence * math.exp(-0.01 * DAYS * (moment - since))
            else:  # nobody has spoken of it yet
                worth = stated[-1] if stated else first.confidence
            found[triple] = Shown(worth, len(seen), spell, seen[-1].at if seen else None)
        return found


def run(steps: set[int], moment: int) -> tuple[int, int]:
    """The steps without a gap around a moment: from, and until."""
    start = end = moment
    while start - 1 in steps:
        start -= 1
    while end in steps:
        end += 1
    return start, end


def figures(seen: list[Said]) -> tuple[float, int]:
    """Confidence after these observations, and since when it decays."""
    confidence, since, sessions = seen[0].confidence, seen[0].at, {seen[0].session}
    for count, one in enumerate(seen[1:], 1):
        if one.at != seen[count - 1].at if one.session is None else one.session not in sessions:
            mean = (confidence * count + one.confidence) / (count + 1)
            confidence = {"full": 1.0, "initial": seen[0].confidence, "running_average": mean}[one.mode]
            since = one.at
        sessions.add(one.session)
    return confidence, since
