"""Whatever several agents write, correct, move, forget, restore and erase: every answer at every two moments is the model's."""

import copy
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, day, grant, new_world, stated
from tests.properties.model import FIRST, LAST, Refused, State, Version

DAYS = st.integers(0, 12)
MAYBE = st.none() | DAYS
LINEAGES = st.sampled_from("abc")
SOON = day(100_000)  # later than anything that the tests write
MOMENTS = st.none() | st.integers(-1, 26).map(lambda half: day(half / 2)) | st.just(SOON)

View = tuple[State, datetime, datetime | None]  # what must be seen as of a moment, as known at another
VIEWS: LiteralString = (
    "unnest(%(ids)s::uuid[], %(as_of)s::timestamptz[], %(known_at)s::timestamptz[]) with ordinality v (id, as_of, known_at, nth)"
)


def listed(state: State, as_of: datetime, category: str | None = None) -> list[tuple[str, str]]:
    """Contents and categories of what is visible, of one category and what is under it."""
    return sorted(
        (v.content, v.category) for v in state.versions if v.holds(as_of) and (category is None or v.category in {category, "x/y"})
    )


class History(RuleBasedStateMachine):
    """A namespace and its model, changed side by side."""

    connection: psycopg.Connection[Any]

    @initialize()
    def begin(self) -> None:
        self.connection.execute("savepoint machine")
        self.world: World = new_world(self.connection)
        self.connection.execute("reset session authorization")
        self.agents = [grant(self.connection, self.world.name, "writer") for _ in range(3)]
        self.connection.execute("set session authorization loci_app")
        self.state = State()
        self.past: list[tuple[datetime, State]] = [(self.world.now(), State())]
        chains = [  # to begin with, without a gap
            Version(UUID(int=number), lineage, f"statement {number}", day(start), LAST)
            for number, (lineage, start) in enumerate(product("ab", (0, 4, 8)), 1)
        ]
        self.number = len(chains)

        def model(state: State) -> None:
            for new in chains:
                state.write(copy.copy(new))

        written = [{"content": new.content, "lineage": new.lineage, "valid_from": new.start} for new in chains]
        for new, outcome in zip(chains, self.change(0, model, lambda: self.world.remember(*written)), strict=True):
            self.known(self.state, new.id).id = outcome["id"]
        self.adopt()

    def teardown(self) -> None:
        """Look at everything once more, at every moment that anything was known at."""
        if hasattr(self, "world"):
            act_as(self.connection, self.agents[0])
            assert self.world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []
            ever = list(enumerate([*self.past, (self.world.now(), self.state)]))
            self.compare(
                [
                    (state, as_of, known_at)
                    for number, (known_at, state) in ever
                    for as_of in [*(day(step / 2) for step in range(number % 2, 32, 2)), SOON]
                ]
            )
            self.look_at([(state, day(number % 13), known_at) for number, (known_at, state) in ever])
            self.connection.execute("reset session authorization")
            self.connection.execute("rollback to savepoint machine")
            self.connection.execute("set session authorization loci_app")

    def change(self, agent: int, model: Callable[[State], None], database: Callable[[], Any]) -> Any:
        """Do the same to both; what the model refuses the database must refuse, and the other way round."""
        act_as(self.connection, self.agents[agent])
        trial, refused, outcome = self.state.copied(), False, None
        try:
            model(trial)
        except Refused:
            refused = True
        answer: Any = None
        try:
            with self.connection.transaction():
                answer = outcome = database()
        except psycopg.Error as error:
            answer = error
        assert isinstance(answer, psycopg.Error) == refused, answer
        self.state = self.state if refused else trial
        self.past.append((self.world.now(), self.state.copied()))
        return outcome

    def known(self, trial: State, id: UUID) -> Version:
        return next(v for v in trial.versions if v.id == id)

    def adopt(self) -> None:
        """Give versions that go on after an interlude the ids that the database made for them."""
        for version in self.state.versions:
            if version.id == UUID(int=0):
                rows = self.world.history(version.lineage)
                taken = {v.id for v in self.state.versions}
                version.id = next(r["id"] for r in rows if r["content"] == version.content and r["id"] not in taken)
        self.past[-1] = (self.past[-1][0], self.state.copied())

    agents_drawn = st.integers(0, 2)

    def written(self) -> bool:
        return bool(self.state.versions) if hasattr(self, "state") else False

    def one(self, data: Any) -> Version:
        chosen: Version = data.draw(st.sampled_from(self.state.versions))
        return chosen

    @rule(agent=agents_drawn, lineage=LINEAGES, start=MAYBE, length=st.none() | st.integers(0, 6), data=st.data())
    def write(self, agent: int, lineage: str, start: int | None, length: int | None, data: Any) -> None:
        self.number += 1
        fields: dict[str, Any] = {"content": f"statement {self.number}", "lineage": lineage}
        now = self.world.now()
        begin = now if start is None else day(start)
        end = LAST if length is None or start is None else day(start + length)
        if start is not None:
            fields |= {"valid_from": begin} | ({"valid_to": end} if end is not LAST else {})
        parent = data.draw(st.none() | st.sampled_from(self.state.versions)) if self.state.versions else None
        if parent is not None:
            fields["parent_id"] = parent.id
        first = all(v.lineage != lineage for v in self.state.versions)
        made = UUID(int=self.number)

        def model(state: State) -> None:
            new = Version(made, lineage, fields["content"], begin, end)
            state.write(new)
            if parent is not None:
                if parent.lineage == lineage and (first or new.start < new.end):
                    raise Refused
                state.place(lineage, parent.lineage, *((FIRST, LAST) if first else (new.start, new.end)))

        outcome = self.change(agent, model, lambda: self.world.remember(fields))
        if outcome is not None:
            self.known(self.state, made).id = outcome[0]["id"]
            self.adopt()

    @precondition(written)
    @rule(agent=agents_drawn, shift=st.integers(-3, 3), length=st.none() | st.integers(0, 6), data=st.data())
    def correct(self, agent: int, shift: int, length: int | None, data: Any) -> None:
        self.number += 1
        wrong = data.draw(st.sampled_from([v for v in self.state.versions if v.counts()] or self.state.versions))
        fields: dict[str, Any] = {"content": f"correction {self.number}", "corrects": wrong.id}
        if wrong.start > day(100):  # written without a time, which the model knows only roughly: correct it without one
            shift, length = 0, None
        begin = wrong.start + timedelta(days=shift)
        end = wrong.end if length is None else begin + timedelta(days=length)
        if shift or length is not None:
            fields |= {"valid_from": begin} | ({"valid_to": end} if length is not None else {})
        made = UUID(int=self.number)

        def model(state: State) -> None:
            state.write(Version(made, wrong.lineage, fields["content"], begin, end), self.known(state, wrong.id))

        outcome = self.change(agent, model, lambda: self.world.remember(fields))
        if outcome is not None:
            assert outcome[0]["superseded"] == wrong.id
            self.known(self.state, made).id = outcome[0]["id"]
            self.adopt()

    @precondition(written)
    @rule(agent=agents_drawn, since=MAYBE, data=st.data())
    def move(self, agent: int, since: int | None, data: Any) -> None:
        node, parent = self.one(data), data.draw(st.none() | st.sampled_from(self.state.versions))
        changes: dict[str, Any] = {"parent_id": parent.id if parent else None}
        if since is not None:
            changes["parent_since"] = day(since)
        now = self.world.now()
        since_when = day(since) if since is not None else node.start if node.end <= now else now
        begin = max(node.start, since_when)

        def model(state: State) -> None:
            if parent is not None and parent.lineage == node.lineage and begin < node.end:
                raise Refused
            state.place(node.lineage, parent.lineage if parent else None, begin, node.end)

        self.change(agent, model, lambda: self.world.change(node.id, **changes))

    @precondition(written)
    @rule(agent=agents_drawn, forget=st.booleans(), data=st.data())
    def forget(self, agent: int, forget: bool, data: Any) -> None:
        chosen = self.one(data)
        status = "forgotten" if forget else "active"
        self.change(
            agent,
            lambda state: state.change(self.known(state, chosen.id), status=status),
            lambda: self.world.forget(chosen.id, forget),
        )

    @precondition(written)
    @rule(agent=agents_drawn, end=MAYBE, category=st.sampled_from(["general", "x", "x/y"]), data=st.data())
    def patch(self, agent: int, end: int | None, category: str, data: Any) -> None:
        chosen = self.one(data)
        self.change(
            agent,
            lambda state: state.change(self.known(state, chosen.id), end=LAST if end is None else day(end), category=category),
            lambda: self.world.change(chosen.id, valid_to=None if end is None else day(end), category=category),
        )

    @precondition(written)
    @rule(agent=agents_drawn, sure=st.integers(0, 3), data=st.data())
    def erase(self, agent: int, sure: int, data: Any) -> None:
        """Seldom: a lineage goes for good, out of everything that was ever known."""
        if sure:
            return
        gone = self.one(data)
        self.change(
            agent,
            lambda state: state.erase(gone.lineage),
            lambda: self.world.rows("select * from loci_api.erase_memories(%(ns)s, %(ids)s)", ids=[gone.id]),
        )
        for _, state in self.past:
            state.erase(gone.lineage)

    @precondition(lambda self: hasattr(self, "state"))
    @rule(moment=MOMENTS, category=st.none() | st.sampled_from(["x", "x/y"]), data=st.data())
    def look(self, moment: datetime | None, category: str | None, data: Any) -> None:
        """Any answer at any two moments; the present is one of them."""
        known_at, state = data.draw(st.sampled_from([(None, self.state), *self.past]))
        as_of = moment or self.world.now()
        filters = {} if category is None else {"category": category}
        self.compare([(state, as_of, known_at)], category)
        found = self.world.rows(
            "select id, content from loci.search_text(%(ns)s, 'statement correction', 1000, %(filters)s, %(as_of)s, %(known_at)s) s"
            " join loci_data.memories m using (id)",
            filters=Jsonb(stated(filters)),
            as_of=as_of,
            known_at=known_at,
        )
        assert sorted(row["content"] for row in found) == [content for content, _ in listed(state, as_of, category)]
        self.look_at([(state, as_of, known_at)])

    def compare(self, views: list[View], category: str | None = None) -> None:
        """What is listed, with its category, is what the states say."""
        found = self.found(
            views,
            "select nth, content, category from {views} cross join lateral"
            " loci.list_memories(%(ns)s, %(filters)s, 1000, null, v.as_of, v.known_at)",
            filters=Jsonb({} if category is None else {"category": category}),
        )
        for (state, as_of, known_at), rows in zip(views, found, strict=True):
            assert sorted((row["content"], row["category"]) for row in rows) == listed(state, as_of, category), (as_of, known_at)

    def look_at(self, views: list[View]) -> None:
        """Each lineage: its history, what stands under it, what it stands under."""
        seen = [(view, version) for view in views for version in {v.lineage: v for v in view[0].versions}.values()]
        one_by_one, ids = [view for view, _ in seen], [version.id for _, version in seen]
        histories = self.found(
            one_by_one,
            "select nth, h.content, h.status from {views} cross join lateral"
            " loci.history(%(ns)s, v.id::text, p_known_at => v.known_at) with ordinality h order by nth, h.ordinality",
            ids,
        )
        under = self.found(
            one_by_one,
            "select nth, s.depth, (s.memory).content from {views} cross join lateral"
            " loci.subtree(%(ns)s, v.id, 100, v.as_of, v.known_at) s",
            ids,
        )
        above = self.found(
            one_by_one,
            "select nth, (a.memory).content from {views} cross join lateral"
            " loci.ancestors(%(ns)s, v.id, v.as_of, v.known_at) with ordinality a order by nth, a.ordinality",
            ids,
        )
        for nth, ((state, as_of, _), version) in enumerate(seen):
            assert [(r["content"], r["status"]) for r in histories[nth]] == [
                (v.content, v.status)
                for v in sorted(state.versions, key=lambda v: v.start)  # and then as they were written
                if v.lineage == version.lineage
            ]
            assert {(r["depth"], r["content"]) for r in under[nth]} == state.under(version.lineage, as_of)
            visible = state.visible(as_of)
            assert [r["content"] for r in above[nth]] == [visible[a] for a in state.above(version.lineage, as_of) if a in visible]
        self.get([(view, version) for view, version in seen if version.lineage in view[0].visible(view[1])])

    def get(self, seen: list[tuple[View, Version]]) -> None:
        """What is visible of a lineage, and where it stands."""
        found = self.found(
            [view for view, _ in seen],
            "select nth, m.content, m.parent_id from {views} cross join lateral"
            " loci.get_memory(%(ns)s, v.id, v.as_of, v.known_at) m",
            [version.id for _, version in seen],
        )
        for ((state, as_of, _), version), (row,) in zip(seen, found, strict=True):
            parent, visible = state.parent(version.lineage, as_of), state.visible(as_of)
            assert row["content"] == visible[version.lineage]
            assert (row["parent_id"] is None) == (parent is None)
            if parent in visible:
                assert row["parent_id"] == next(v.id for v in state.versions if v.lineage == parent and v.holds(as_of))

    def found(
        self, views: list[View], statement: LiteralString, ids: list[UUID] | None = None, **parameters: Any
    ) -> list[list[Row]]:
        """The answer to a question for each view, all of them asked at once."""
        answers: list[list[Row]] = [[] for _ in views]
        for row in self.world.rows(
            statement.replace("{views}", VIEWS),
            ids=ids or [None for _ in views],
            as_of=[as_of for _, as_of, _ in views],
            known_at=[known_at for _, _, known_at in views],
            **parameters,
        ):
            answers[row["nth"] - 1].append(row)
        return answers


@pytest.mark.row("M3")
def test_every_answer_at_every_two_moments_is_that_of_a_plain_model(admin: psycopg.Connection[Any]) -> None:
    admin.execute("set session authorization loci_app")
    machine = type("HistoryHere", (History,), {"connection": admin})
    run_state_machine_as_test(machine, settings=settings(settings.default, stateful_step_count=30))
