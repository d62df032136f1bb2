"""Whatever is observed, taken back, merged, forgotten, restored, erased and undone: every edge at every two moments is the plain model's."""

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
import pytest
from hypothesis import event, example, given, note
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world, stated
from tests.properties.spells import DAYS, FOREVER, STEPS, Said, Shown, State, Triple
from tests.sql.undoing import operation, undo

NAMES = ["Ann", "Bob", "Cleo"]
PLACES = ["Rome", "Oslo", "Kiel"]
MODES = ["full", "initial", "running_average"]
SINGLE = "lives_in"
Call = tuple[Any, ...]
STEP = st.integers(0, STEPS - 1)


@st.composite
def observations(draw: st.DrawFn) -> Row:
    """What somebody says of an edge; mostly of one source, so that edges meet."""
    kind = draw(st.sampled_from([SINGLE, SINGLE, "knows"]))
    start = draw(st.none() | STEP)
    begin = 0 if start is None else start
    return {
        "source": draw(st.sampled_from(["Ann", "Ann", *NAMES])),
        "type": kind,
        "target": draw(st.sampled_from(PLACES if kind == SINGLE else NAMES)),
        "at": draw(STEP),
        "start": start,
        "end": draw(st.none() | st.integers(begin, min(begin + 15, STEPS))),
        "confidence": draw(st.sampled_from([0.2, 0.6, 1.0])),
        "session": draw(st.sampled_from([None, "s1", "s2"])),
    }


def one_of(kind: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    return st.tuples(st.just(kind), *parts)


NUMBER = st.integers(0, 5)
CORRECTION = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.sampled_from([0.05, 0.5]),
        "strength": st.just(0.7),
        "start": STEP,
        "end": st.none() | st.integers(0, STEPS + 10),
    },
).filter(bool)
OBSERVE = one_of("observe", st.lists(observations(), min_size=1, max_size=3))
CALLS = st.lists(
    st.one_of(
        OBSERVE,
        OBSERVE,
        OBSERVE,
        OBSERVE,
        one_of("remember", observations(), st.booleans()),
        one_of("remember", observations(), st.booleans()),
        one_of("forget", NUMBER),
        one_of("forget", NUMBER),
        one_of("erase", NUMBER),
        one_of("end memory", NUMBER, st.none() | STEP),
        one_of("version", NUMBER, STEP),
        one_of("correct", NUMBER),
        one_of("delete", NUMBER),
        one_of("correct edge", NUMBER, CORRECTION),
        one_of("correct edge", NUMBER, CORRECTION),
        one_of("merge", st.permutations(NAMES)),
        one_of("split again"),
        one_of("beside", NUMBER),
        one_of("undo"),
        one_of("mode", st.sampled_from(MODES)),
    ),
    min_size=1,
    max_size=9,
)
MOMENTS = st.lists(st.integers(-1, STEPS + 20), min_size=1, max_size=6, unique=True)


class Pair:
    """A namespace and its model, changed side by side."""

    def __init__(self, world: World, mode: str) -> None:
        self.world, self.state, self.mode = world, State(), mode
        self.past: list[tuple[datetime, State]] = []
        self.order = 0
        self.memories: list[Any] = []
        self.spans: dict[int, tuple[int, int]] = {}  # of memories, as written
        self.replaced: set[int] = set()  # by another version
        self.merges: list[tuple[Any, str]] = []
        self.last: tuple[Any, State] | None = None  # the last operation that can be undone, and what stood before
        self.set_mode(mode)
        entities = world.rows(
            "select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": n} for n in [*NAMES, *PLACES]])
        )
        for entity in entities:  # what is erased takes none of them with it
            world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=entity["id"])
        world.rows("select * from loci_api.set_edge_type(%(ns)s, %(t)s, '{\"single_valued\": true}')", t=SINGLE)

    def set_mode(self, mode: str) -> None:
        self.world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"reinforcement": mode}}))
        self.mode = mode

    def do(self, call: Call) -> None:
        kind, *rest = call
        self.last = None if kind != "undo" else self.last
        works: dict[str, Callable[..., None]] = {
            "observe": self.observe,
            "remember": self.remember,
            "forget": self.forget,
            "erase": self.erase,
            "end memory": self.end_memory,
            "version": self.version,
            "correct": self.correct,
            "delete": self.delete,
            "correct edge": self.correct_edge,
            "merge": self.merge,
            "split again": self.split_again,
            "beside": self.put_beside,
            "undo": self.undo,
            "mode": self.set_mode,
        }
        works[kind](*rest)
        self.past.append((self.world.now(), copy.deepcopy(self.state)))

    def noted(self, work: Callable[[], Any]) -> Any:
        """What some work returns, done as an operation that can be undone next."""
        before = copy.deepcopy(self.state)
        done, made = operation(self.world, work)
        self.last = made, before
        return done

    def say(self, stated_: Row, memory: int | None = None) -> Said:
        self.order += 1
        ends = self.state.stands_for(stated_["source"]), stated_["type"], self.state.stands_for(stated_["target"])
        return Said(ends, *(stated_[f] for f in ("at", "start", "end", "confidence", "session")), self.mode, self.order, memory)

    def possible(self, items: list[Row]) -> list[Row]:
        """Those that are no end of something unheard of."""
        known = set(self.state.edges(forgotten=True))
        found = []
        for item in items:
            triple = self.state.now((item["source"], item["type"], item["target"]))
            if triple in known or item["end"] is None or item["start"] is not None or item["end"] >= item["at"]:
                known.add(triple)
                found.append(item)
        return found

    def ends_before_it_begins(self, items: list[Row]) -> bool:
        """Whether an end alone is stated of an edge that begins only later, or at no moment: that is refused."""
        state = copy.deepcopy(self.state)
        state.said += [self.say(item) for item in items]
        spells = state.spells(SINGLE)
        return any(
            item["start"] is None
            and item["end"] is not None
            and item["end"] <= item["at"]
            and min(spells[state.now((item["source"], item["type"], item["target"]))], default=FOREVER) >= item["end"]
            for item in items
        )

    def observe(self, items: list[Row]) -> None:
        items = self.possible(items)
        if not items or self.ends_before_it_begins(items):
            return
        rows = [
            stated(
                {k: item[k] for k in ("source", "type", "target", "confidence")}
                | ({"session_id": item["session"]} if item["session"] else {})
                | {"observed_at": at(item["at"])}
                | ({} if item["start"] is None else {"valid_from": at(item["start"])})
                | ({} if item["end"] is None else {"valid_to": at(item["end"])})
            )
            for item in items
        ]
        self.noted(lambda: self.world.rows("select * from loci_api.observe_edges(%(ns)s, %(e)s)", e=Jsonb(rows)))
        self.state.said += [self.say(item) for item in items]

    def remember(self, item: Row, episode: bool) -> None:
        """A memory that carries an edge: told now, unless it is an episode."""
        start = item["start"] if item["start"] is not None else item["at"]
        end = item["end"] if item["end"] is not None and item["end"] >= start else None
        edge = {k: item[k] for k in ("source", "type", "target", "confidence")}
        told = {"valid_from": at(start)} | ({} if end is None else {"valid_to": at(end)})
        dated = {"layer": 3} if episode else {}
        if not episode:
            edge["observed_at"] = at(item["at"]).isoformat()  # the clock of the model ends before now
        session = {"session_id": item["session"]} if item["session"] else {}
        lineage = f"lineage {len(self.memories)}"
        self.spans[len(self.memories)] = start, FOREVER if end is None else end
        made = self.world.write(f"memory {self.order}", lineage=lineage, **told, **dated, **session, edges=[edge])
        item = {**item, "at": start if episode else item["at"], "start": start, "end": end}
        self.state.said.append(self.say(item, len(self.memories)))
        self.memories.append(made["id"])

    def forget(self, number: int) -> None:
        """Forget a memory, or restore it."""
        left = [place for place, memory in enumerate(self.memories) if memory is not None]
        if left:
            number = left[number % len(left)]
            forgotten = number not in self.state.forgotten
            self.noted(lambda: self.world.forget(self.memories[number], forget=forgotten))
            self.state.forgotten ^= {number}
            event("forgotten" if forgotten else "restored")

    def active(self, number: int) -> int | None:
        """Some memory that is in force."""
        left = [
            place
            for place, memory in enumerate(self.memories)
            if memory is not None and place not in self.state.forgotten | self.replaced
        ]
        return left[number % len(left)] if left else None

    def ends(self, number: int) -> int:
        return self.state.ends.get(number, self.spans[number][1])

    def end_memory(self, number: int, end: int | None) -> None:
        """Let a memory end at another step; what it says of edges ends there."""
        chosen = self.active(number)
        if chosen is None or (end is not None and end < self.spans[chosen][0]):
            return
        start, written = self.spans[chosen]
        until = FOREVER if end is None else end
        self.noted(lambda: self.world.change(self.memories[chosen], valid_to=None if end is None else at(end)))
        if until > written:
            self.state.said = [replace(s, end=None) if (s.memory, s.end) == (chosen, written) else s for s in self.state.said]
        self.state.ends[chosen] = until
        empty = any(s.memory == chosen and s.start == s.end for s in self.state.said)
        self.state.corrected = self.state.corrected - {chosen} | ({chosen} if until == start and not empty else set())
        event("ended")

    def version(self, number: int, step: int) -> None:
        """Another version takes the place of a memory, and says nothing of its edges."""
        chosen = self.active(number)
        if chosen is not None and self.spans[chosen][0] < step < self.ends(chosen):
            self.replaced.add(chosen)
            self.last = None
            self.world.write(f"later than {chosen}", lineage=f"lineage {chosen}", valid_from=at(step))
            self.state.ends[chosen] = step
            event("replaced")

    def correct(self, number: int) -> None:
        """A memory was never true."""
        chosen = self.active(number)
        if chosen is not None and self.ends(chosen) > self.spans[chosen][0]:
            self.replaced.add(chosen)
            self.world.remember({"content": f"rather than {chosen}", "corrects": self.memories[chosen]})
            self.state.corrected.add(chosen)
            event("corrected")

    def erase(self, number: int) -> None:
        """Erase a memory: what it said was never said, at no moment of recorded time either."""
        left = [place for place, memory in enumerate(self.memories) if memory is not None]
        if left:
            number = left[number % len(left)]
            self.world.erase(self.memories[number])
            self.memories[number] = None
            for state in [self.state, *(state for _, state in self.past)]:
                state.erase(number)
            event("erased")

    def delete(self, number: int) -> None:
        rows = self.edges()
        if rows:
            row = rows[number % len(rows)]
            self.noted(lambda: self.world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=row["id"]))
            self.state.delete((row["source"], row["type"], row["target"]))

    def correct_edge(self, number: int, stated_: Row) -> None:
        rows = self.edges()
        if not rows:
            return
        row = rows[number % len(rows)]
        triple = row["source"], row["type"], row["target"]
        self.order += 1
        state, last = copy.deepcopy(self.state), "end" in stated_ and stated_["end"] is None
        if stated_.keys() & {"confidence", "start", "end"} and not state.correct(
            triple, stated_.get("start"), stated_.get("end"), stated_.get("confidence", -1), self.order, open_=last
        ):
            return
        named = {"start": "valid_from", "end": "valid_to"}
        changes = {named.get(k, k): at(v) if k in named and v is not None else v for k, v in stated_.items()}
        self.noted(
            lambda: self.world.rows(
                "select * from loci_api.update_edge(%(ns)s, %(id)s, %(c)s)", id=row["id"], c=Jsonb(stated(changes))
            )
        )
        self.state = state
        event("edge corrected")

    def edges(self) -> list[Row]:
        return self.world.rows(
            """select e.id, s.name as source, e.type, t.name as target from loci_data.edges e
               join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
               join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
               where e.namespace_id = %(ns_id)s and e.superseded_at is null order by 2, 3, 4"""
        )

    def merge(self, names: list[str]) -> None:
        kept, other = names[:2]
        if not {kept, other} & self.state.merged.keys():
            made = self.world.row("select * from loci_api.merge_entities(%(ns)s, %(k)s, %(o)s)", k=kept, o=other)
            self.state.merged[other] = kept
            self.merges.append((made["merge_id"], other))

    def split_again(self) -> None:
        if self.merges:
            made, other = self.merges.pop()
            self.world.rows("select * from loci_api.undo_merge(%(ns)s, %(id)s)", id=made)
            del self.state.merged[other]

    def put_beside(self, number: int) -> None:
        """Undo that one edge ended another: both hold."""
        rows = self.world.rows(
            """select s.id, o.source_id, s.older_id, s.newer_id from loci.list_supersessions(%(ns)s, 'applied') s
               cross join lateral loci.get_edge(%(ns)s, s.older_id) o
               cross join lateral loci.get_edge(%(ns)s, s.newer_id) n
               where o.superseded_at is null and n.superseded_at is null order by s.ended_at, s.id"""
        )
        if rows and not self.state.merged:
            row = rows[number % len(rows)]
            names = {edge["id"]: (edge["source"], edge["type"], edge["target"]) for edge in self.edges()}
            self.noted(lambda: self.world.rows("select * from loci_api.undo_supersession(%(ns)s, %(id)s)", id=row["id"]))
            self.state.beside.add((names[row["older_id"]], names[row["newer_id"]]))

    def undo(self) -> None:
        if self.last is not None:
            made, before = self.last
            if self.world.rows("select from loci_data.operations where namespace_id = %(ns_id)s and id = %(id)s", id=made):
                undo(self.world, made)
                self.state = before
                event("undone")
            self.last = None


def at(step: float) -> datetime:
    return day(DAYS * step)


def found(world: World, moments: list[int], known: list[datetime | None]) -> dict[tuple[int, int], dict[Triple, Row]]:
    """Listed edges by place of known_at and moment: one statement for all."""
    rows = world.rows(
        """select k.place - 1 as known, m.place - 1 as moment, e.* from unnest(%(known)s::timestamptz[]) with ordinality k(at, place)
           cross join unnest(%(moments)s::timestamptz[]) with ordinality m(at, place)
           cross join lateral loci.edges_as_of(%(ns)s, m.at, k.at, true) e""",
        known=known,
        moments=[at(moment) for moment in moments],
    )
    answers: dict[tuple[int, int], dict[Triple, Row]] = {(k, m): {} for k in range(len(known)) for m in range(len(moments))}
    for row in rows:
        answers[row["known"], row["moment"]][row["source"], row["type"], row["target"]] = row
    return answers


def shown(row: Row) -> Shown:
    """A listed edge as the model has it."""
    steps = [None if moment is None else (moment - day(0)).days // DAYS for moment in (row["valid_from"], row["valid_to"])]
    last = row["last_observed_at"]
    assert steps[0] is not None
    return Shown(
        row["confidence"],
        row["observations"],
        (steps[0], FOREVER if steps[1] is None else steps[1]),
        None if last is None else (last - day(0)).days // DAYS,
    )


LIVED: Row = {"source": "Ann", "type": SINGLE, "start": None, "end": None, "confidence": 0.2, "session": None}
ERASED_RIVAL_OF_A_CLOSED_EDGE = [
    ("remember", {**LIVED, "target": "Rome", "at": 1}, False),
    ("observe", [{**LIVED, "target": "Oslo", "at": 0}]),
    ("undo",),
    ("erase", 0),
]


@pytest.mark.row("M8", "G2", "G8")
@example(calls=ERASED_RIVAL_OF_A_CLOSED_EDGE, mode="full", moments=[0, 1])
@given(calls=CALLS, mode=st.sampled_from(MODES), moments=MOMENTS)
def test_every_edge_at_every_two_moments_is_the_models(
    connection: psycopg.Connection[Any], calls: list[Call], mode: str, moments: list[int]
) -> None:
    with connection.transaction(force_rollback=True):
        note(repr((calls, mode, moments)))
        pair = Pair(new_world(connection), mode)
        for call in calls:
            pair.do(call)
        world, past = pair.world, [*pair.past, (None, pair.state)]
        answers = found(world, moments, [known for known, _ in past])
        for (known, moment), rows in answers.items():
            expected = past[known][1].shown(moments[moment], SINGLE)
            got = {triple: shown(row) for triple, row in rows.items()}
            assert got.keys() == expected.keys(), (known, moments[moment])
            for triple, edge in expected.items():
                assert got[triple].confidence == pytest.approx(edge.confidence)
                assert vars(got[triple]) | {"confidence": 0} == vars(edge) | {"confidence": 0}, (known, moments[moment], triple)
                assert rows[triple]["faded"] == (edge.confidence < 0.1)
        walked = walk_all(world, moments[0])
        living = {t: e.confidence for t, e in pair.state.shown(moments[0], SINGLE).items() if e.confidence >= 0.1}
        assert walked == pytest.approx(living)
        assert spells_now(world) == {triple: steps for triple, steps in pair.state.spells(SINGLE).items() if steps}
        assert world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []


def walk_all(world: World, moment: int) -> dict[Triple, float]:
    rows = world.rows(
        """select t.* from loci.traverse(%(ns)s, array(select e.name from loci.list_entities(%(ns)s, p_limit => 100) e),
           p_max_hops => 1, p_as_of => %(as_of)s) t""",
        as_of=at(moment),
    )
    return {(row["source"], row["type"], row["target"]): row["confidence"] for row in rows}


def spells_now(world: World) -> dict[Triple, set[int]]:
    """The view of spells, those believed now, as steps."""
    rows = world.rows("select * from loci.edge_spells where namespace = %(ns)s and superseded_at is null")
    steps: dict[Triple, set[int]] = {}
    for row in rows:
        start = (row["valid_from"] - day(0)).days // DAYS
        end = FOREVER if row["valid_to"] is None else (row["valid_to"] - day(0)).days // DAYS
        steps.setdefault((row["source"], row["type"], row["target"]), set()).update(range(start, end))
    return steps
