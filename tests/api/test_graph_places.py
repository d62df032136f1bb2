"""Where entities stand in the constellation: found once, and kept."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from service.graph.constellation import place_entities
from tests.services import Api, ok


def places(api: Api, **asked: Any) -> dict[str, tuple[float, float]]:
    return {each["name"]: (each["x"], each["y"]) for each in ok(api.get("/knowledge/constellation", **asked))["entities"]}


def link(api: Api, source: str, target: str, **more: Any) -> None:
    ok(api.post("/edges", {"source": source, "type": "knows", "target": target, **more}), 201)


@pytest.mark.row("X7")
def test_an_entity_keeps_its_place_when_others_come_and_at_every_moment(api: Api) -> None:
    for target in ("b", "c", "d"):
        link(api, "a", target, observed_at="2026-01-01T00:00:00Z")
    link(api, "x", "y", observed_at="2026-03-01T00:00:00Z")
    first = places(api, as_of="2026-02-01T00:00:00Z")  # all are placed, those that are not born at that moment, too
    whole = places(api)
    assert len(set(whole.values())) == len(whole) == 6
    assert first == {name: whole[name] for name in "abcd"}
    link(api, "d", "new")
    added = places(api)
    assert {name: added[name] for name in whole} == whole
    away = {name: np.hypot(added["new"][0] - x, added["new"][1] - y) for name, (x, y) in whole.items()}
    assert min(away, key=lambda name: away[name]) == "d"
    assert places(api, limit=2) == {name: added[name] for name in list(added)[:2]}
    assert ok(api.client.post("/entities/a/merge", json={"other": "b"}))["id"]
    assert {name: at for name, at in places(api).items() if name != "a"} == {n: at for n, at in added.items() if n not in "ab"}


def worth(line: dict[str, Any], moment: datetime) -> float | None:
    """What an edge is worth by its history, as its description says; None: it is not alive."""
    before = [step for step in line["steps"] if datetime.fromisoformat(step["at"]) <= moment]
    if not before or before[-1]["confidence"] is None:
        return None
    step = before[-1]
    if step["fades_at"] and moment >= datetime.fromisoformat(step["fades_at"]):
        return None
    days = (moment - datetime.fromisoformat(step["restored_at"])) / timedelta(days=1) if step["restored_at"] else 0
    return float(step["confidence"] * math.exp(-line["decay_rate"] * days))


@pytest.mark.row("X7")
def test_the_history_of_edges_says_what_the_service_says_of_every_moment(api: Api) -> None:
    start = datetime(2025, 1, 1, tzinfo=UTC)

    def days(n: int) -> str:
        return (start + timedelta(days=n)).isoformat()

    ok(api.client.put("/edge-types/slow", json={"decay_rate": 0.001}))
    for n, confidence, session in ((0, 0.4, "a"), (3, 1.0, "a"), (40, 0.8, "b"), (300, 0.3, "c")):  # "a" speaks twice
        link(api, "a", "b", observed_at=days(n), confidence=confidence, session_id=session)
    link(api, "b", "c", observed_at=days(10), valid_from=days(5), valid_to=days(60))
    link(api, "b", "c", observed_at=days(100), valid_from=days(90), valid_to=days(400))  # a second spell
    link(api, "c", "d", observed_at=days(20), valid_from=days(2))  # said later than it began
    link(api, "c", "e", observed_at=days(20), confidence=0.01)  # below the threshold from the start
    ok(api.post("/edges", {"source": "d", "type": "slow", "target": "a", "observed_at": days(1)}), 201)
    history = ok(api.get("/knowledge/constellation", history=True))["history"]
    assert len(history) == 5
    assert ok(api.get("/knowledge/constellation"))["history"] is None
    seen = set()
    for n in (0, 2, 4, 5, 9, 12, 20, 39, 40, 59, 60, 75, 90, 99, 130, 200, 299, 301, 399, 401, 700, 2000):
        moment = start + timedelta(days=n)
        then = ok(api.get("/knowledge/constellation", as_of=moment.isoformat()))
        told = {edge["id"]: edge["confidence"] for edge in then["edges"]}
        reckoned = {line["id"]: worth(line, moment) for line in history}
        assert {each: value for each, value in reckoned.items() if value is not None} == pytest.approx(told, abs=1e-6), n
        born = {star["name"] for star in ok(api.get("/knowledge/constellation"))["entities"]}
        assert {star["name"] for star in then["entities"]} <= born
        seen.add(frozenset(told))
    assert len(seen) > 5


def test_the_same_graph_gets_the_same_places_and_what_belongs_together_stands_together() -> None:
    ids = [UUID(int=n) for n in range(1, 61)]
    rows: Any = [
        {"id": each, "x": None, "y": None, "neighbors": [ids[n // 20 * 20]] if n % 20 else []} for n, each in enumerate(ids)
    ]  # three stars of twenty
    found = place_entities(rows)
    assert (found == place_entities([dict(row) for row in rows])).all()
    middles = found.reshape(3, 20, 2).mean(axis=1)
    nearest = np.linalg.norm(found[:, None] - middles[None], axis=2).argmin(axis=1)
    assert (nearest == np.repeat([0, 1, 2], 20)).mean() > 0.9
    assert np.abs(found).max() < 100
    assert place_entities([]).shape == (0, 2)
