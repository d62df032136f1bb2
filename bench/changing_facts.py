"""Does recall bring what is true: now, at a moment of the past, and as it was known then?

    python -m bench.changing_facts [--misses]

292 facts that change: of ten kinds in two halves, of eight kinds more, of seven kinds of which several are told of each subject, and of
29 kinds told as people tell a change, without a word that says so (bench/quality/changing.py), among turns about something else, 300 a
half; two questions each. And how many told changes end what they end, where a stub that judges rightly settles what replies of retain
name as unsettled. Misses are shown of what rules are chosen
on. Counted is whether the right version is the very first result, and whether any version that was not true at the moment asked
about stands above it.
"""

import statistics
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import httpx

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from bench.quality import changing
from bench.quality.asking import wait
from bench.quality.changing import Fact, Question
from bench.server import running

MISSES = "--misses"
SMALL_TALK = 300  # a half
HALVES = {
    "tune": "first half",
    "second_tune": "several kinds of each subject",
    "held_out": "half that was held out",
    "second_held_out": "kinds held out later",
    "third_tune": "as people tell it",
    "third_held_out": "as people tell it, held out",
}
CHOSEN_ON = ("tune", "second_tune", "third_tune")
ARMS = {"arms": ["lexical", "vector"]}
Row = dict[str, Any]


def item(fact: Fact, number: int) -> Row:
    """A version as the body of a write."""
    version = fact.versions[number]
    body: Row = {"content": version.text, "valid_from": version.valid_from.isoformat()}
    if fact.way == "turns":
        opening = changing.OPENINGS[(number + len(fact.subject)) % len(changing.OPENINGS)]
        body |= {"content": f"{opening} {version.text}", "source": "Sam", "session_id": f"{version.valid_from:%Y-%m-%d}"}
    elif fact.way != "retained":
        body["lineage"] = fact.key
    return body | {"metadata": {"fact": fact.key, "version": number}}


class Written:
    """A namespace with the facts of a half: what was written, and when each version was the last one known."""

    def __init__(self, client: httpx.Client, half: str, namespace: str) -> None:
        self.client, self.half, self.namespace = client, half, namespace
        self.facts = changing.facts(half)
        self.known_at: list[datetime] = []
        self.found: dict[str, int] = defaultdict(int)
        self._ids: dict[tuple[str, int], str] = {}

    def _post(self, path: str, body: Row) -> Any:
        return self.client.post(path, json=body, headers={"X-Namespace": self.namespace}).raise_for_status().json()

    def talk(self) -> None:
        """Make the namespace, with turns about something else."""
        self.client.post("/namespaces", json={"name": self.namespace}).raise_for_status()
        talk = [
            {"content": text, "valid_from": moment.isoformat(), "source": "Sam", "session_id": f"{moment:%Y-%m-%d}"}
            for moment, text in changing.small_talk(self.half, SMALL_TALK)
        ]
        self._post("/memories/batch", {"items": talk, "atomic": True})

    def write(self) -> None:
        """Round by round: the first versions, the second ones, and so on, as they came about."""
        self.talk()
        for number in range(6):
            for fact in self.facts:
                if number < len(fact.versions):
                    self._write_version(fact, number)
            time.sleep(0.05)  # a moment that is after one round and before the next
            self.known_at.append(datetime.now(UTC))
            time.sleep(0.05)
            wait(self.client, self.namespace)  # who talks for months has vectors of what was said before

    def _write_version(self, fact: Fact, number: int) -> None:
        body = item(fact, number)
        if fact.way == "retained":
            decisions = self._post("/retain", body)["decisions"]
            if number:
                self.found[decisions[0]["action"]] += 1
            return
        if fact.versions[number].corrects:
            body["corrects"] = self._ids[fact.key, number - 1]
        self._ids[fact.key, number] = self._post("/memories", body)["id"]

    def settle_rightly(self) -> list[bool]:
        """Retain what is to be retained, in its turn, and settle what is named and has changed: whether each change ended the last."""
        ended = []
        for number in range(6):
            for fact in self.facts:
                if fact.way != "retained" or number >= len(fact.versions):
                    continue
                (decision, *_) = self._post("/retain", item(fact, number))["decisions"]
                before = self._ids.get((fact.key, number - 1))
                self._ids[fact.key, number] = decision["memory_id"]
                if before is None:
                    continue
                if before in [one["id"] for one in decision["unsettled"]]:
                    self._post(f"/memories/{decision['memory_id']}/settle", {"older": before, "verdict": "replaces"})
                current = self.client.get(f"/memories/{before}", headers={"X-Namespace": self.namespace}).json()["current"]
                ended.append(not current)
            wait(self.client, self.namespace)
        return ended

    def ask(self, question: Question, arms: Row) -> list[tuple[str, int] | None]:
        """Fact and version of each result; None for small talk."""
        body: Row = {"query": question.text, "k": 20, **arms}
        if question.when == "as_of" and question.as_of is not None:
            body["as_of"] = question.as_of.isoformat()
        elif question.when == "known_at":
            body["known_at"] = self.known_at[question.version].isoformat()
        results = self._post("/recall", body)["results"]
        kept = [result["metadata"] for result in results]
        return [(data["fact"], data["version"]) if "fact" in data else None for data in kept]


def judge(question: Question, found: list[tuple[str, int] | None]) -> Row:
    """Whether the right version is first, and whether one that was not true then stands above it."""
    right = (question.fact.key, question.version)
    same = [hit for hit in found if hit is not None and hit[0] == question.fact.key]
    return {
        "question": question,
        "first": found[:1] == [right],
        "first_of_fact": same[:1] == [right],
        "stale_above": bool(same) and same[0] != right,
        "found": found[:3],
    }


def share(rows: list[Row], what: str) -> str:
    """Per cent of rows, and how many there are."""
    return f"{100 * statistics.fmean(row[what] for row in rows):.1f} % of {len(rows)}"


def figures_of(name: str, rows: list[Row]) -> list[Figure]:
    """The two that matter, in all; then by moment and by the way in which facts were written."""
    first = statistics.fmean(row["first"] for row in rows)
    stale = sum(row["stale_above"] for row in rows)
    figures = [
        Figure(f"{name}: right version first", share(rows, "first"), target="95 %", met=first >= 0.95),
        Figure(f"{name}: one that was not true above it", str(stale), target="none", met=stale == 0),
    ]
    for part in ("when", "way"):
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            groups[row["question"].when if part == "when" else row["question"].fact.way].append(row)
        for group, members in groups.items():
            above = sum(row["stale_above"] for row in members)
            value = f"{share(members, 'first')}; of its fact {share(members, 'first_of_fact')}; stale above {above}"
            figures.append(Figure(f"… {group}", value))
    return figures


def show_misses(rows: list[Row], written: Written) -> None:
    """Questions whose right version is not first."""
    texts = {(fact.key, n): version.text for fact in written.facts for n, version in enumerate(fact.versions)}
    for row in rows:
        if not row["first"]:
            question = row["question"]
            right = texts[question.fact.key, question.version]
            print(
                f"    {question.when}, {question.fact.way}: {question.text} → {right} | {[hit and texts[hit] for hit in row['found']]}"
            )


def run(base: Database, given: Options) -> list[Figure]:  # noqa: ARG001 (the set is small)
    """Both halves."""
    figures = []
    with base.owner() as owner, running(base.folder) as (url, _), httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        for half, name in HALVES.items():
            written = Written(client, half, f"changing-{half.replace('_', '-')}-{time.time_ns()}")
            written.write()
            asked = changing.questions(half, written.facts)
            rows, plain = ([judge(question, written.ask(question, arms)) for question in asked] for arms in ({}, ARMS))
            figures += figures_of(name, rows)
            figures.append(Figure("… by words and meaning alone", share(plain, "first")))
            found = ", ".join(f"{count} {action}" for action, count in sorted(written.found.items()))
            figures.append(Figure("… what retain made of later versions", found))
            judged = Written(client, half, f"{written.namespace}-judged")
            judged.talk()
            ended = judged.settle_rightly()
            value, met = f"{100 * statistics.fmean(ended):.1f} % of {len(ended)}", statistics.fmean(ended) >= 0.9
            figures.append(Figure("… ended where a stub that judges rightly settles", value, target="90 %", met=met))
            if MISSES in sys.argv and half in CHOSEN_ON:
                show_misses(rows, written)
        return report("Facts that change", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__, [argument for argument in sys.argv[1:] if argument != MISSES])
    with database(chosen) as opened:
        run(opened, chosen)
