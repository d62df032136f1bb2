"""A walk finds what a plain breadth-first search finds, in its order, on any graph."""

import math
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.factories import day, new_world, stated

NODES = "abcdefg"
NOW = day(400)


@dataclass(frozen=True)
class Edge:
    """A relation between two nodes, or from one to a literal, last observed so many days ago."""

    source: str
    type: str
    target: str | None
    confidence: float
    strength: float
    age: int

    @property
    def worth(self) -> float:
        """Confidence after decay at the default rate."""
        return self.confidence * math.exp(-0.01 * self.age)

    def item(self) -> dict[str, Any]:
        """The edge as a write states it."""
        end = {"literal": "42"} if self.target is None else {"target": self.target}
        return stated(
            {
                "source": self.source,
                "type": self.type,
                **end,
                "confidence": self.confidence,
                "strength": self.strength,
                "observed_at": day(400 - self.age),
            }
        )


@dataclass(frozen=True)
class Walk:
    """What a walk is asked for."""

    start: list[str]
    types: list[str] | None
    direction: str
    hops: int
    limit: int
    min_confidence: float | None
    min_strength: float


@st.composite
def edges(draw: st.DrawFn) -> Edge:
    return Edge(
        draw(st.sampled_from(NODES)),
        draw(st.sampled_from("tu")),
        draw(st.sampled_from(NODES) | st.none()),
        draw(st.sampled_from([0.05, 0.3, 0.8, 1.0])),
        draw(st.sampled_from([0.2, 0.5, 0.9])),
        draw(st.sampled_from([0, 50, 150, 300])),
    )


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    return Walk(
        draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True)),
        draw(st.none() | st.sampled_from([["t"], ["u"], ["t", "u"]])),
        draw(st.sampled_from(["both", "out", "in"])),
        draw(st.integers(0, 5)),
        draw(st.sampled_from([1, 3, 7, 1000])),
        draw(st.sampled_from([None, 0.0, 0.2, 0.5])),
        draw(st.sampled_from([0.0, 0.5, 0.6])),
    )


GRAPHS = st.lists(edges(), min_size=1, max_size=20, unique_by=lambda e: (e.source, e.type, e.target))


def search(graph: list[Edge], walk: Walk) -> list[tuple[int, Edge, float, int]]:
    """The model: (number of the edge, edge, score of the way, hop), each edge once, in order of discovery."""
    least = 0.1 if walk.min_confidence is None else walk.min_confidence
    found: list[tuple[int, Edge, float, int]] = []
    seen: set[int] = set()
    reached = dict.fromkeys(walk.start, 1.0)
    frontier = list(walk.start)
    for hop in range(1, walk.hops + 1):
        following: dict[str, float] = {}
        for node in frontier:
            for number, edge in enumerate(graph):
                outward = edge.source == node and walk.direction != "in"
                inward = edge.target == node and walk.direction != "out"
                if number in seen or not (outward or inward):
                    continue
                if edge.worth < least or edge.strength < walk.min_strength or (walk.types and edge.type not in walk.types):
                    continue
                seen.add(number)
                found.append((number, edge, reached[node] * edge.worth, hop))
                far = edge.target if outward else edge.source
                if far is not None and far not in reached and far not in following:
                    following[far] = reached[node] * edge.worth
        reached |= following
        frontier = list(following)
    return found


@given(graph=GRAPHS, walk=walks())
def test_a_walk_finds_what_a_plain_search_finds_in_its_order(
    connection: psycopg.Connection[Any], graph: list[Edge], walk: Walk
) -> None:
    with connection.transaction(force_rollback=True):
        world = new_world(connection)
        world.rows("select * from loci_api.upsert_entities(%(ns)s, %(items)s)", items=Jsonb([{"name": name} for name in NODES]))
        made = world.rows("select * from loci_api.observe_edges(%(ns)s, %(edges)s)", edges=Jsonb([edge.item() for edge in graph]))
        numbers = {row["id"]: row["ordinal"] - 1 for row in made}
        rows = world.rows(
            """select * from loci.traverse(%(ns)s, %(start)s, %(types)s, %(direction)s, %(hops)s, %(limit)s, %(min_confidence)s,
               %(min_strength)s, %(as_of)s, p_paths => true, p_scores => true) order by ordinal""",
            **{**vars(walk), "as_of": NOW},
        )
        expected = search(graph, walk)
        assert [(numbers[row["id"]], row["hop"]) for row in rows] == [(n, hop) for n, _, _, hop in expected[: walk.limit]]
        for row, (_, edge, score, _) in zip(rows, expected, strict=False):
            assert row["confidence"] == pytest.approx(edge.worth)
            assert row["score"] == pytest.approx(score)
            assert len(row["path"]) == 2 * row["hop"] + 1
            assert row["path"][0] in walk.start
        assert all(row["truncated"] == (["limit"] if len(expected) > walk.limit else None) for row in rows)
