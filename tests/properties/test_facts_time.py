"""Whatever is said of facts and done to their memories: what holds at every two moments is the plain model's."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import psycopg
import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world, stated
from tests.properties.facts import FOREVER, Fact, Memory, Pair, State
from tests.sql.undoing import operation, undo

STEPS = 12
CITIES = [
    "Pest",
    "Vac",
    "Eger",
    "Pecs",
    "Gyor",
    "Tata",
    "Ajka",
    "Paks",
    "Baja",
    "Szeged",
    "Sopron",
    "Miskolc",
    "Kaposvar",
    "Szolnok",
]
Call = tuple[Any, ...]
STEP = st.integers(0, STEPS)
NUMBER = st.integers(0, 5)
ENTITY = st.sampled_from(["Ann", "Ann", "Ann", "Bob"])


def one_of(kind: str, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    return st.tuples(st.just(kind), *parts)


WRITE = one_of("write", ENTITY, STEP, st.none() | st.none() | st.integers(0, 6), st.none() | NUMBER)
CALLS = st.lists(
    st.one_of(
        *[WRITE] * 5,
        one_of("remember", STEP, st.none() | st.integers(1, 8)),
        one_of("remember", STEP, st.none()),
        one_of("forget", NUMBER),
        one_of("forget", NUMBER),
        one_of("version", NUMBER, STEP),
        one_of("correct", NUMBER),
        one_of("end memory", NUMBER, st.none() | STEP),
        one_of("erase", NUMBER),
        one_of("replace", NUMBER, STEP),
        one_of("status", NUMBER, st.sampled_from(["active", "superseded", "deleted"])),
        one_of("status", NUMBER, st.sampled_from(["active", "deleted"])),
        one_of("end", NUMBER, st.none() | STEP),
        one_of("let stand", NUMBER),
        one_of("accept", NUMBER),
        one_of("sweep"),
        one_of("merge"),
        one_of("undo"),
        one_of("undo"),
    ),
    min_size=1,
    max_size=12,
)
MOMENTS = st.lists(st.integers(-1, STEPS + 2) | st.just(FOREVER - 1), min_size=1, max_size=6, unique=True)


class Facts:
    """A namespace and its model, changed side by side."""

    def __init__(self, world: World) -> None:
        self.world, self.state = world, State()
        self.past: list[tuple[datetime, State]] = []
        self.ids: list[Any] = []  # of facts, by number
        self.memories: list[Any] = []
        self.last: tuple[Any, State] | None = None  # the last operation that can be undone, and what stood before
        world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Ann"}, {"name": "Bob"}]))
        self.aspects = {name: self.aspect(name) for name in ("Ann", "Bob")}

    def aspect(self, entity: str) -> Any:
        row = self.world.row(
            'select * from loci_api.upsert_aspect(%(ns)s, %(e)s, \'{"name": "home", "single_valued": true}\')', e=entity
        )
        self.world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=row["entity_id"])
        return row["id"]

    def do(self, call: Call) -> None:
        kind, *rest = call
        self.last = self.last if kind == "undo" else None
        works: dict[str, Callable[..., None]] = {
            "write": self.write,
            "remember": self.remember,
            "forget": self.forget,
            "version": self.version,
            "correct": self.correct,
            "end memory": self.end_memory,
            "erase": self.erase,
            "replace": self.replace,
            "status": self.set_status,
            "end": self.end,
            "let stand": self.let_stand,
            "accept": self.accept,
            "sweep": self.sweep,
            "merge": self.merge,
            "undo": self.undo,
        }
        works[kind](*rest)
        self.past.append((self.world.now(), self.state.copied()))

    def noted(self, database: Callable[[], Any], model: Callable[[], None], refused: bool = False) -> Any:
        """Do the same to both, as an operation that can be undone next, where both do not refuse it."""
        before, answer = self.state.copied(), None
        try:
            with self.world.connection.transaction():
                answer, made = operation(self.world, database)
        except psycopg.Error:
            if not refused:
                raise
            self.world.connection.execute("select set_config('loci.operation', '', true)")
            return None
        assert not refused
        model()
        self.last = made, before
        return answer

    def pick(self, number: int) -> int | None:
        """Some fact."""
        numbers = sorted(self.state.facts)
        return numbers[number % len(numbers)] if numbers else None

    def pick_memory(self, number: int, active: bool = True) -> int | None:
        numbers = [n for n, m in sorted(self.state.memories.items()) if m.shows() or not active]
        return numbers[number % len(numbers)] if numbers else None

    def add(self, fact: Fact, apart_from: int | None = None) -> int:
        number = len(self.ids)
        self.state.facts[number] = fact
        self.state.compare(number, apart_from)
        return number

    def write(self, entity: str, start: int, length: int | None, memory: int | None) -> None:
        if self.state.merged:
            entity = "Ann"
        on = None if memory is None else self.pick_memory(memory)
        end = None if length is None else start + length
        fields = {
            "content": f"lives in {CITIES[len(self.ids) % len(CITIES)]}",
            "valid_from": day(start),
            **({} if end is None else {"valid_to": day(end)}),
            **({} if on is None else {"memory_id": self.memories[on]}),
        }
        row = self.noted(
            lambda: self.world.row(
                "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=self.aspects[entity], a=Jsonb(stated(fields))
            ),
            lambda: void(self.add(Fact(start, FOREVER if end is None else end, on, entity))),
        )
        self.ids.append(row["id"])

    def remember(self, start: int, length: int | None) -> None:
        number = len(self.memories)
        end = {} if length is None else {"valid_to": day(start + length)}
        made = self.world.write(f"note {number}", lineage=f"l{number}", valid_from=day(start), **end)
        self.memories.append(made["id"])
        self.state.memories[number] = Memory(start, FOREVER if length is None else start + length)

    def turn(self, number: int, database: Callable[[], Any], work: Callable[[Memory], None]) -> None:
        """Do something to a memory."""
        self.noted(
            database,
            lambda: self.state.change(self.state.resting_on(number), lambda state: work(state.memories[number])),
        )

    def forget(self, which: int) -> None:
        number = self.pick_memory(which, active=False)
        if number is not None:
            hidden = not self.state.memories[number].forgotten
            event("forgotten" if hidden else "restored")
            self.turn(
                number,
                lambda: self.world.forget(self.memories[number], hidden),
                lambda memory: setattr(memory, "forgotten", hidden),
            )

    def version(self, which: int, start: int) -> None:
        """Another version of its lineage ends a memory."""
        number = self.pick_memory(which)
        if number is None or not self.state.memories[number].start < start < self.state.memories[number].end:
            return

        def ended(memory: Memory) -> None:
            memory.end, memory.replaced = start, True

        self.turn(number, lambda: self.world.write(f"later than {number}", lineage=f"l{number}", valid_from=day(start)), ended)

    def correct(self, which: int) -> None:
        number = self.pick_memory(which)
        if number is not None:

            def corrected(memory: Memory) -> None:
                memory.end, memory.replaced = memory.start, True

            self.turn(
                number,
                lambda: self.world.remember({"content": f"rather than {number}", "corrects": self.memories[number]}),
                corrected,
            )

    def end_memory(self, which: int, end: int | None) -> None:
        number = self.pick_memory(which)
        if number is None or self.state.memories[number].replaced:
            return
        memory = self.state.memories[number]
        if end is None or end >= memory.start:
            self.turn(
                number,
                lambda: self.world.change(self.memories[number], valid_to=None if end is None else day(end)),
                lambda memory: setattr(memory, "end", FOREVER if end is None else end),
            )

    def erase(self, which: int) -> None:
        """Erase a memory: what rested on it was never said, at no moment of recorded time either."""
        number = self.pick_memory(which, active=False)
        if number is None:
            return
        gone = self.state.resting_on(number)
        older = [o for o, n in self.state.decisions if n in gone and o not in gone]
        self.world.erase(self.memories[number], versions="this")
        decided = set(self.state.decisions)
        self.state.change(older, lambda state: state.erase(number))
        for _, state in self.past:
            state.erase(number)
            for pair in set(self.state.decisions) - decided:
                if {*pair} <= state.facts.keys():
                    state.decisions[pair] = self.state.decisions[pair]
        event("erased")

    def change(self, number: int, changes: Row, work: Callable[[State], None], refused: bool = False) -> None:
        self.noted(
            lambda: self.world.row(
                "select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)", id=self.ids[number], c=Jsonb(stated(changes))
            ),
            lambda: self.state.change([number], work),
            refused,
        )

    def replace(self, which: int, start: int) -> None:
        """New content takes the place of old."""
        number = self.pick(which)
        if number is None or self.state.status(number) != "active":
            return
        old = self.state.facts[number]
        content = f"lives in {CITIES[len(self.ids) % len(CITIES)]}"

        def model() -> None:
            new = self.add(Fact(start, FOREVER, old.memory, self.state.place(number)), number)
            self.state.decisions[number, new] = "applied"
            self.state.by_hand.add((number, new))

        row = self.noted(
            lambda: self.world.row(
                "select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)",
                id=self.ids[number],
                c=Jsonb(stated({"content": content, "valid_from": day(start)})),
            ),
            model,
        )
        self.ids.append(row["id"])

    def set_status(self, which: int, status: str) -> None:
        number = self.pick(which)
        if number is None:
            return
        fact = self.state.facts[number]
        memory = None if fact.memory is None else self.state.memories[fact.memory]
        over = memory is not None and (memory.replaced or not memory.shows())

        def work(state: State) -> None:
            fact = state.facts[number]
            fact.deleted = status == "deleted"
            fact.ended = status == "superseded" or (status == "deleted" and fact.ended)
            if status == "active":
                for pair in [pair for pair, s in state.decisions.items() if pair[0] == number and s == "applied"]:
                    state.decisions[pair] = "undone"

        self.change(number, {"status": status}, work, refused=status == "active" and over)

    def end(self, which: int, end: int | None) -> None:
        number = self.pick(which)
        if number is not None and (end is None or end >= self.state.facts[number].start):
            self.change(
                number,
                {"valid_to": None if end is None else day(end)},
                lambda state: setattr(state.facts[number], "end", FOREVER if end is None else end),
            )

    def decide(self, pair: Pair, verb: str, refused: bool = False) -> None:
        calls = {
            "undo": "select * from loci_api.undo_supersession(%(ns)s, %(id)s)",
            "apply": "select * from loci_api.apply_supersession(%(ns)s, %(id)s)",
        }
        row = self.world.row(
            "select id from loci_data.supersessions where namespace_id = %(ns_id)s and older_id = %(o)s and newer_id = %(n)s",
            o=self.ids[pair[0]],
            n=self.ids[pair[1]],
        )
        status = {"undo": "undone", "apply": "applied"}[verb]
        self.noted(
            lambda: self.world.row(calls[verb], id=row["id"]),  # type: ignore[arg-type]
            lambda: self.state.decisions.update({pair: status}),
            refused,
        )

    def let_stand(self, which: int) -> None:
        """Undo a decision: both facts hold."""
        pairs = sorted(pair for pair, status in self.state.decisions.items() if status == "applied")
        if pairs:
            self.decide(pairs[which % len(pairs)], "undo")

    def accept(self, which: int) -> None:
        pairs = sorted(pair for pair, status in self.state.decisions.items() if status != "applied")
        if pairs:
            older, newer = pair = pairs[which % len(pairs)]
            first = max(self.state.facts[older].start, self.state.facts[newer].start)
            idle = not self.state.stands(newer) or self.state.facts[older].deleted or self.state.end(older) <= first
            self.decide(pair, "apply", refused=idle)

    def sweep(self) -> None:
        active = [n for n in sorted(self.state.facts) if self.state.status(n) == "active"]
        self.world.rows("select * from loci_api.sweep_supersessions(%(ns)s)")
        for number in active:
            self.state.compare(number)

    def merge(self) -> None:
        if not self.state.merged:
            self.world.rows("select * from loci_api.merge_entities(%(ns)s, 'Ann', 'Bob')")
            self.state.merged = True
            event("merged")

    def undo(self) -> None:
        if self.last is None:
            return
        made, before = self.last
        self.last = None
        if self.world.rows("select from loci_data.operations where namespace_id = %(ns_id)s and id = %(id)s", id=made):
            undo(self.world, made)
            for pair, status in self.state.decisions.items():  # what followed from a fact that was there stays decided
                if pair not in before.decisions and pair not in self.state.by_hand and {*pair} <= before.facts.keys():
                    before.decisions[pair] = status
            self.state = before
            event("undone")

    def found(self, moments: list[int], known: list[datetime | None]) -> dict[tuple[int, int], set[Any]]:
        """Ids of what is listed under both entities, by place of known_at and moment: one statement for all."""
        rows = self.world.rows(
            """select k.place - 1 as known, m.place - 1 as moment, (f ->> 'id')::uuid as id
               from unnest(%(known)s::timestamptz[]) with ordinality k(at, place)
               cross join unnest(%(moments)s::timestamptz[]) with ordinality m(at, place)
               cross join unnest('{Ann,Bob}'::text[]) e(name)
               cross join lateral loci.list_aspects(%(ns)s, e.name, m.at, k.at) a
               cross join lateral jsonb_array_elements(a.attributes) f""",
            known=known,
            moments=[day(moment + 0.5) for moment in moments],
        )
        answers: dict[tuple[int, int], set[Any]] = {(k, m): set() for k in range(len(known)) for m in range(len(moments))}
        for row in rows:
            answers[row["known"], row["moment"]].add(row["id"])
        return answers


def void(_: object) -> None:
    """Nothing."""


@pytest.mark.row("S8")
@given(calls=CALLS, moments=MOMENTS)
def test_facts_at_every_two_moments_are_those_of_the_model(
    connection: psycopg.Connection[Any], calls: list[Call], moments: list[int]
) -> None:
    with connection.transaction(force_rollback=True):
        note(repr((calls, moments)))
        facts = Facts(new_world(connection))
        for call in calls:
            facts.do(call)
        numbers = {fact: number for number, fact in enumerate(facts.ids)}
        past = [*facts.past, (None, facts.state)]
        for (known, moment), ids in facts.found(moments, [known for known, _ in past]).items():
            state = past[known][1]
            expected = {n for n in state.facts if state.holds(n, moments[moment] + 0.5)}
            assert {numbers[fact] for fact in ids} == expected, (known, moments[moment])
        rows = facts.world.rows("select id, status, superseded_by from loci_data.attributes where namespace_id = %(ns_id)s")
        for row in rows:
            if (number := numbers[row["id"]]) in facts.state.facts:
                successor = facts.state.successor(number)
                assert row["status"] == facts.state.status(number)
                assert row["superseded_by"] == (None if successor is None else facts.ids[successor])
        assert facts.world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []
