"""Any sequence of writes, back-dated ones included, leaves what a plain model says, at every moment of both times."""

from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import World, day, new_world

LAST = 12
END = 10_000


@dataclass(frozen=True)
class Write:
    """A statement about a lineage, from a day on, until a day if stated."""

    lineage: str
    start: int
    end: int | None


@dataclass
class Model:
    """What is valid when, as lists of [from, to, content)."""

    chains: dict[str, list[list[Any]]] = field(default_factory=dict)

    def write(self, write: Write, content: str) -> None:
        chain = self.chains.setdefault(write.lineage, [])
        later = [start for start, end, _ in chain if start > write.start and end > start]
        final = min([write.end if write.end is not None else END, *later])
        for interval in list(chain):
            if interval[0] <= write.start < interval[1] and final > write.start:
                if interval[1] > final:
                    chain.append([final, interval[1], interval[2]])
                interval[1] = write.start
        chain.append([write.start, final, content])

    def at(self, moment: float) -> set[str]:
        return {content for chain in self.chains.values() for start, end, content in chain if start <= moment < end}


@st.composite
def writes(draw: st.DrawFn) -> Write:
    start = draw(st.integers(0, LAST))
    return Write(draw(st.sampled_from("ab")), start, draw(st.none() | st.integers(start, LAST + 2)))


BATCHES = st.lists(st.lists(writes(), min_size=1, max_size=4), min_size=1, max_size=6)
MOMENTS = [n / 2 for n in range(2 * LAST + 6)]


@pytest.mark.row("M3")
@given(batches=BATCHES, data=st.data())
def test_the_visible_version_is_that_of_the_model_at_any_moment_and_as_known_at_any_moment(
    connection: psycopg.Connection[Any], batches: list[list[Write]], data: Any
) -> None:
    with connection.transaction(force_rollback=True):
        world, model = new_world(connection), Model()
        states = [([model.at(moment) for moment in MOMENTS], world.now())]
        for number, batch in enumerate(batches):
            items = [
                {
                    "content": f"{number}.{place}",
                    "lineage": write.lineage,
                    "valid_from": day(write.start),
                    "valid_to": None if write.end is None else day(write.end),
                }
                for place, write in enumerate(batch)
            ]
            world.remember(*items)
            for item, write in zip(items, batch, strict=True):
                model.write(write, str(item["content"]))
            states.append(([model.at(moment) for moment in MOMENTS], world.now()))
        expected, known_at = data.draw(st.sampled_from(states))
        assert [set(world.visible(as_of=day(moment), known_at=known_at)) for moment in MOMENTS] == expected
        assert [set(world.visible(as_of=day(moment))) for moment in MOMENTS] == states[-1][0]
        assert all(len(world.visible(as_of=day(moment), known_at=known_at, lineage="a")) <= 1 for moment in MOMENTS)


@pytest.mark.row("M3")
@given(batches=BATCHES)
def test_history_replays_to_what_is_visible(connection: psycopg.Connection[Any], batches: list[list[Write]]) -> None:
    with connection.transaction(force_rollback=True):
        world = new_world(connection)
        flat = [write for batch in batches for write in batch]
        world.remember(
            *(
                {
                    "content": str(n),
                    "lineage": w.lineage,
                    "valid_from": day(w.start),
                    "valid_to": None if w.end is None else day(w.end),
                }
                for n, w in enumerate(flat)
            )
        )
        versions = [version for lineage in {write.lineage for write in flat} for version in world.history(lineage)]
        replayed = [
            {v["content"] for v in versions if v["valid_from"] <= day(m) and (v["valid_to"] is None or v["valid_to"] > day(m))}
            for m in MOMENTS
        ]
        assert [set(world.visible(as_of=day(moment))) for moment in MOMENTS] == replayed
        told = [(v["valid_from"], v["version"]) for v in versions if v["lineage"] == flat[0].lineage]
        assert told == sorted(told)
        assert {number for _, number in told} == set(range(1, 1 + len(told)))


@given(
    contents=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40),
        min_size=1,
        max_size=8,
    )
)
def test_any_text_is_kept_as_it_is(connection: psycopg.Connection[Any], contents: list[str]) -> None:
    with connection.transaction(force_rollback=True):
        world: World = new_world(connection)
        written = world.remember(*({"content": content} for content in contents))
        assert [world.get(row["id"])["content"] for row in written] == contents
        assert len({row["id"] for row in written}) == len(set(contents))
