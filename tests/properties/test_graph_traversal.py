"""A walk finds what a plain breadth-first search finds, in its order, on any graph, whatever bounds it."""

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
PAST, COMING = 400, 4000  # days: what is asked of the past is looked up otherwise


@dataclass(frozen=True)
class Edge:
    """A relation between two nodes, or from one to a literal, last observed so many days ago."""

    source: str
    type: str
    target: str | None
    confidence: float
    strength: float
    age: int

    def worth(self, rate: float) -> float:
        """Confidence after decay."""
        return self.confidence * math.exp(-rate * self.age)

    def item(self, now: int) -> dict[str, Any]:
        """The edge as a write states it."""
        end = {"literal": "42"} if self.target is None else {"target": self.target}
        return stated(
            {
                "source": self.source,
                "type": self.type,
                **end,
                "confidence": self.confidence,
                "strength": self.strength,
                "observed_at": day(now - self.age),
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
    text: str | None
    fan_out: int
    rate: float
    now: int


@st.composite
def edges(draw: st.DrawFn) -> Edge:
    return Edge(
        draw(st.sampled_from(NODES)),
        draw(st.sampled_from(["owned_by", "uses"])),
        draw(st.sampled_from(NODES) | st.none()),
        draw(st.sampled_from([0.05, 0.3, 0.8, 1.0])),
        draw(st.sampled_from([0.2, 0.5, 0.9])),
        draw(st.sampled_from([0, 50, 150, 300])),
    )


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    return Walk(
        draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True)),
        draw(st.none() | st.sampled_from([["uses"], ["owned_by"], ["uses", "owned_by"]])),
        draw(st.sampled_from(["both", "out", "in"])),
        draw(st.integers(0, 5)),
        draw(st.sampled_from([1, 3, 7, 1000])),
        draw(st.sampled_from([None, 0.0, 0.2, 0.5])),
        draw(st.sampled_from([0.0, 0.5, 0.6])),
        draw(st.sampled_from([None, "Who owns it?", "What does it use?", "Hm"])),
        draw(st.sampled_from([1, 2, 1000])),
        draw(st.sampled_from([0.01, 0.01, 0.005])),
        draw(st.sampled_from([PAST, COMING])),
    )


GRAPHS = st.lists(edges(), min_size=1, max_size=20, unique_by=lambda e: (e.source, e.type, e.target))


def search(graph: list[Edge], walk: Walk) -> tuple[list[tuple[int, Edge, float, int]], bool]:
    """The model: (number of the edge, edge, score of the way, hop), each edge once, in order of discovery.

    Within a node: types that the text names, then confidence × strength, then the newest, then order of discovery; `fan_out` a direction at most.
    """
    named = {"Who owns it?": "owned_by", "What does it use?": "uses"}.get(walk.text or "")

    def matters(numbered: tuple[int, Edge]) -> tuple[bool, float, int, int]:
        number, edge = numbered
        return edge.type == named, round(edge.worth(walk.rate) * edge.strength, 12), -edge.age, -number

    least = 0.1 if walk.min_confidence is None else walk.min_confidence
    found: list[tuple[int, Edge, float, int]] = []
    seen: set[int] = set()
    reached = dict.fromkeys(walk.start, 1.0)
    frontier = list(walk.start)
    cut = False
    for hop in range(1, walk.hops + 1):
        following: dict[str, float] = {}
        for node in frontier:
            alive = [
                (number, edge)
                for number, edge in sorted(enumerate(graph), key=matters, reverse=True)
                if round(edge.worth(walk.rate), 6) >= least
                and edge.strength >= walk.min_strength
                and (not walk.types or edge.type in walk.types)
            ]
            out = [(number, edge) for number, edge in alive if edge.source == node and walk.direction != "in"]
            into = [
                (number, edge)
                for number, edge in alive
                if edge.target == node and walk.direction != "out" and (edge.source != node or walk.direction == "in")
            ]
            cut |= max(len(out), len(into)) > walk.fan_out
            for number, edge in sorted(out[: walk.fan_out] + into[: walk.fan_out], key=matters, reverse=True):
                if number in seen:
                    continue
                seen.add(number)
                found.append((number, edge, reached[node] * edge.worth(walk.rate), hop))
                far = edge.target if (number, edge) in out else edge.source
                if far is not None and far not in reached and far not in following:
                    following[far] = reached[node] * edge.worth(walk.rate)
        reached |= following
        frontier = list(following)
    return found, cut


@pytest.mark.row("G7")
@given(graph=GRAPHS, walk=walks())
def test_a_walk_finds_what_a_plain_search_finds_in_its_order(
    connection: psycopg.Connection[Any], graph: list[Edge], walk: Walk
) -> None:
    with connection.transaction(force_rollback=True):
        world = new_world(connection)
        world.rows("select * from loci_api.upsert_entities(%(ns)s, %(items)s)", items=Jsonb([{"name": name} for name in NODES]))
        settings = {"fan_out": walk.fan_out, "decay_rate": walk.rate, "traverse_ms": 60_000}
        world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": settings}))
        made = world.rows(
            "select * from loci_api.observe_edges(%(ns)s, %(edges)s)", edges=Jsonb([edge.item(walk.now) for edge in graph])
        )
        numbers = {row["id"]: row["ordinal"] - 1 for row in made}
        rows = world.rows(
            """select * from loci.traverse(%(ns)s, %(start)s, %(types)s, %(direction)s, %(hops)s, %(limit)s, %(min_confidence)s,
               %(min_strength)s, %(as_of)s, p_paths => true, p_scores => true, p_question => %(text)s) order by ordinal""",
            **{**vars(walk), "as_of": day(walk.now)},
        )
        expected, cut = search(graph, walk)
        assert [(numbers[row["id"]], row["hop"]) for row in rows] == [(n, hop) for n, _, _, hop in expected[: walk.limit]]
        for row, (_, edge, score, _) in zip(rows, expected, strict=False):
            assert row["confidence"] == pytest.approx(edge.worth(walk.rate))
            assert row["score"] == pytest.approx(score)
            assert len(row["path"]) == 2 * row["hop"] + 1
            assert row["path"][0] in walk.start
        limited = len(expected) > walk.limit
        for row in rows:
            assert ("limit" in (row["truncated"] or [])) == limited
            assert limited or ("fan_out" in (row["truncated"] or [])) == cut
