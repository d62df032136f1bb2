"""Is what was written a moment ago found as well as what has its vector?

    python -m bench.fresh

200 facts, each saved and asked about at once, among 700 older memories of the same kinds; and asked about again when nothing waits
for a vector or its names any more, before the next one is saved. Then the same 200 in another namespace, 50 saved at once and asked
about one after the other: more wait than the newest that a recall embeds (setting recall_waiting). Asked with every arm, and by words
and meaning alone, which tells what waits: vectors, or names.
"""

import json
import random
import time
from dataclasses import dataclass
from typing import Any

import httpx

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from bench.quality import changing
from bench.quality.asking import wait
from bench.server import running

Row = dict[str, Any]
Right = dict[str, bool]  # by way to ask: whether the right memory is first
PEOPLE = ("Novak", "Brandt")
PLACES = ("in Oslo", "in Tampere")
BURST = 50
WAYS: dict[str, Row] = {"all arms": {}, "words and meaning": {"arms": ["lexical", "vector"]}}


@dataclass(frozen=True)
class Pair:
    """What is saved, and what is asked."""

    key: str
    text: str
    question: str


def pairs() -> list[Pair]:
    """Two of each subject: people with a surname, things with a place."""
    draw = random.Random("fresh pairs")
    made = []
    for kind in map(json.loads, changing.KINDS.open(encoding="utf-8")):
        for subject in kind["subjects"]:
            for more in PEOPLE if subject[0].isupper() else PLACES:
                told = draw.choice([*kind["first"], *kind["later"]])
                whole = f"{subject} {more}"
                text = changing.sentence(told, whole, draw.choice(kind["values"]))
                made.append(Pair(f"{kind['kind']}/{whole}", text, changing.sentence(draw.choice(kind["questions"]), whole, "")))
    draw.shuffle(made)
    return made


def background() -> list[Row]:
    """Older memories: what was said about something else, and facts of the same kinds."""
    rows: list[Row] = []
    for half in ("tune", "held_out"):
        rows += [{"content": text, "valid_from": moment.isoformat()} for moment, text in changing.small_talk(half, 300)]
        rows += [{"content": f.versions[0].text, "valid_from": f.versions[0].valid_from.isoformat()} for f in changing.facts(half)]
    return rows


class Asked:
    """A namespace that is asked; whether the right memory is first, and whether anything waited."""

    def __init__(self, client: httpx.Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        client.post("/namespaces", json={"name": namespace}).raise_for_status()
        self.post("/memories/batch", {"items": background(), "atomic": True})
        wait(client, namespace)

    def post(self, path: str, body: Row) -> Any:
        """A call in the namespace."""
        return self.client.post(path, json=body, headers={"X-Namespace": self.namespace}).raise_for_status().json()

    def first(self, pair: Pair) -> Right:
        """By way to ask, whether the pair's memory is first."""
        found: Right = {}
        for name, way in WAYS.items():
            results = self.post("/recall", {"query": pair.question, "k": 10, **way})["results"]
            found[name] = bool(results) and results[0]["metadata"].get("key") == pair.key
        return found


def one_by_one(asked: Asked, given: list[Pair]) -> tuple[list[Right], list[Right]]:
    """Save, ask, let the worker finish, ask again."""
    now, later = [], []
    for pair in given:
        asked.post("/memories", {"content": pair.text, "metadata": {"key": pair.key}})
        now.append(asked.first(pair))
        wait(asked.client, asked.namespace)
        later.append(asked.first(pair))
    return now, later


def in_bursts(asked: Asked, given: list[Pair]) -> tuple[list[Right], list[Right]]:
    """Save fifty, ask about each, let the worker finish, ask again."""
    now, later = [], []
    for start in range(0, len(given), BURST):
        burst = given[start : start + BURST]
        asked.post("/memories/batch", {"items": [{"content": p.text, "metadata": {"key": p.key}} for p in burst]})
        now += [asked.first(pair) for pair in burst]
        wait(asked.client, asked.namespace)
        later += [asked.first(pair) for pair in burst]
    return now, later


def figure(name: str, way: str, now: list[Right], later: list[Right]) -> Figure:
    """How many are first at once, beside how many are later."""
    fresh, settled = (sum(right[way] for right in rights) for rights in (now, later))
    ratio = fresh / max(settled, 1)
    return Figure(f"{name}, {way}", f"{fresh} of {len(now)} first", f"{settled} later", ratio, "≥ 0.98 of later", ratio >= 0.98)


def run(base: Database, given: Options) -> list[Figure]:
    """One by one, then in bursts."""
    chosen = pairs()[: given.size(200)]
    mark, figures = time.time_ns(), []
    with base.owner() as owner, running(base.folder) as (url, _), httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        for name, way in (("saved and asked at once", one_by_one), (f"{BURST} saved, then asked at once", in_bursts)):
            now, later = way(Asked(client, f"fresh-{way.__name__.replace('_', '-')}-{mark}"), chosen)
            figures += [figure(name, ways, now, later) for ways in WAYS]
        return report("Fresh memories", owner, figures)


if __name__ == "__main__":
    wanted = options(__doc__)
    with database(wanted) as opened:
        run(opened, wanted)
