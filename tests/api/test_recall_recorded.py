"""Recalls of all kinds answer as they did when they were recorded: the same memories, scores and relevance.

Whoever makes recall cheaper must not change what it answers. Who changes that on purpose records it anew with LOCI_WRITE_DOCS=1,
and looks at what has changed.
"""

import itertools
import json
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from prometheus_client import REGISTRY

from bench import corpus
from service.recall import one_call
from tests.databases import Database
from tests.services import Api, eventually, is_settled, ok, serve

PLACES = ("Oslo", "Lisbon", "Graz", "the harbour", "the library", "Lake Bohinj", "the old mill", "Turin")
THINGS = (
    "a red kettle",
    "the cello",
    "two canoes",
    "a map of Norway",
    "her grandmother's ring",
    "the blue tent",
    "a sourdough starter",
)
DEEDS = ("bought", "lost", "repaired", "gave away", "painted", "photographed", "forgot", "looked for")
FEELINGS = ("I loved it", "it was cold", "it rained all day", "we laughed a lot", "I was tired", "it cost too much")
PEOPLE = ("Anna", "Bruno", "Carla Weiss", "Deniz", "Melanie")
FIRMS = ("Ilex Labs", "Orbit", "Northwind", "Kappa Press")
MOMENT = "2024-06-15T12:00:00+00:00"  # when it is asked
FRESH = "fresh"  # of this namespace nothing has a vector, and no name is read


class Asked(NamedTuple):
    """A question: what it is called, its namespace, and the body of the request."""

    name: str
    namespace: str
    body: dict[str, Any]


def day(number: int) -> str:
    """A moment of 2023, or 2024 behind that."""
    return f"{2023 + number // 336}-{1 + number % 336 // 28:02d}-{1 + number % 28:02d}T10:{number % 60:02d}:00+00:00"


def said(chance: random.Random, other: str) -> str:
    """A turn."""
    deed, thing, place = chance.choice(DEEDS), chance.choice(THINGS), chance.choice(PLACES)
    return chance.choice(
        (
            f"I {deed} {thing} in {place}, {chance.choice(FEELINGS)}.",
            f"Did you know that {other} {deed} {thing}?",
            f"{other}, when will you come to {place} again?",
            f"My sister {deed} {thing} and {chance.choice(FEELINGS)}.",
            f"We should meet at {place}. {other} could bring {thing}.",
        )
    )


def turns(seed: int, speakers: tuple[str, str], sessions: int, length: int) -> list[dict[str, Any]]:
    """Conversations of two."""
    chance, found = random.Random(seed), []
    for session in range(sessions):
        for turn in range(length):
            source, other = speakers[turn % 2], speakers[1 - turn % 2]
            text = f"{said(chance, other.capitalize())} ({session}.{turn})"
            moment = day(60 * session + turn // 8).replace(":00+", f":{turn:02d}+")
            found.append({"content": text, "source": source, "session_id": f"s{session}", "valid_from": moment})
    return found


def facts() -> list[dict[str, Any]]:
    """Statements about people and firms, of several categories, some of them over, to come, or versions of others."""
    chance, found = random.Random(11), []
    for number in range(90):
        person, firm, place = chance.choice(PEOPLE), chance.choice(FIRMS), chance.choice(PLACES)
        text, category = chance.choice(
            (
                (f"{person} works at {firm} since spring {number}", "work/jobs"),
                (f"{person} {chance.choice(DEEDS)} {chance.choice(THINGS)} near {place} ({number})", "life"),
                (f"{firm} opened an office in {place} in year {number}", "work/firms"),
                (f"{person} and {chance.choice(PEOPLE)} met at {place} for the {number}th time", "life/meetings"),
            )
        )
        item: dict[str, Any] = {"content": text, "category": category, "valid_from": day(5 * number)}
        item["tags"] = [f"t{number % 3}", *(["even"] if number % 2 == 0 else [])]
        item |= {
            "importance": number % 11 / 10,
            "confidence": 1 - number % 5 / 10,
            "layer": number % 4,
            "metadata": {"n": number % 7},
        }
        if number % 9 == 0:
            item["valid_to"] = day(5 * number + 40)
        if number % 10 == 3:
            item["lineage"] = f"line {number % 4}"
        if number % 8 == 5:
            item |= {"about": person, "source": "Bruno"}
        if number % 6 == 1:
            item["entities"] = [{"name": firm, "type": "company"}]
        if number % 12 == 1:
            item["edges"] = [{"source": person, "type": "knows", "target": firm}]
        found.append(item)
    return [*found, {"content": "Anna will move to Turin for good", "valid_from": "2090-01-01T00:00:00+00:00"}]


def plain() -> list[dict[str, Any]]:
    """Texts that nobody has said, enough that an arm does not hold them all."""
    return [{"content": text, "valid_from": day(number)} for number, text in enumerate(corpus.generated(260, seed=4, length=24))]


MEMORIES = {
    "talk": turns(1, ("Anna", "Bruno"), 5, 24),
    "chat": turns(2, ("user", "assistant"), 3, 20),
    "facts": facts(),
    "plain": plain(),
    FRESH: [*turns(3, ("Carla", "Melanie"), 2, 16), {"content": "Carla keeps the kettle in Graz now", "valid_from": day(400)}],
}
QUESTIONS = {
    "talk": (
        "What did Anna say about the cello?", "Where did I lose the red kettle?", "Who repaired two canoes in Oslo last year?",
        "Which ring did Brunos grandmother have?", "blue tent", "When did Bruno go to Lake Bohinj?", "harbour in January 2023",
        "Is there a submarine?",
    ),
    "chat": (
        "What did you suggest about the map of Norway?", "What have I painted?", "sourdough starter near the old mill",
        "What did my sister photograph?",
    ),
    "facts": (
        "Where does Anna work?", "Who met Carla Weiss at the library?", "offices of Northwind", "What does Bruno own, and where?",
        "Which firm opened an office in Lisbon in spring 2024?", "deniz and melanie", "canoes", "Orbit",
    ),
    "plain": tuple(" ".join(text.split()[3:18:3]) for text in corpus.generated(6, seed=4, length=24)),
    FRESH: ("Where is the kettle now?", "What did Carla say of Turin?", "cello", "What did Melanie buy in Oslo?"),
}  # fmt: skip
EVERYWHERE: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "one": {"k": 1},
    "many": {"k": 40},
    "as many as answer": {"k": "auto"},
    "by words": {"arms": ["lexical"]},
    "by meaning": {"arms": ["vector"]},
    "by both": {"arms": ["lexical", "vector"]},
    "ranks": {"fusion": "rrf", "rrf_k": 20},
    "means": {"fusion": "relative_score"},
    "weights": {"weights": {"lexical": 0.3, "vector": 2.0, "names": 1.0}},
    "of the past": {"as_of": day(200)},
    "with a key": {"key": True},
}
BESIDE: dict[str, dict[str, dict[str, Any]]] = {
    "talk": {
        "of a user": {"user": "Bruno"},
        "of a session": {"filters": {"session_id": "s2"}},
        "of a speaker": {"filters": {"source": "Anna"}},
        "of a time": {"filters": {"valid_after": day(60), "valid_before": day(190)}},
        "least": {"min_relevance": 0.3},
        "of two": {"namespaces": ["talk", "facts"]},
        "of all": {"namespaces": "*", "k": 12},
        "other tiers": {"arms": ["lexical", "vector", "working_memory", "conversation"]},
    },
    "chat": {"of a user": {"user": "assistant"}, "of a session": {"filters": {"session_id": "s1"}}},
    "facts": {
        "of a category": {"filters": {"category": "work"}},
        "of tags": {"filters": {"tags": ["t1", "even"]}},
        "of all tags": {"filters": {"tags_all": ["t1", "even"]}},
        "of layers": {"filters": {"layers": [1, 2]}},
        "of a lineage": {"filters": {"lineage": "line 1"}},
        "of metadata": {"filters": {"metadata": {"n": 3}}},
        "of importance": {"filters": {"min_importance": 0.4, "min_confidence": 0.8}},
        "of an entity": {"filters": {"entity": "Northwind"}},
        "about somebody": {"filters": {"about": "Anna"}},
        "as known then": {"known": True},
        "under one": {"under": True},
        "no graph": {"arms": ["lexical", "vector", "hierarchy", "walk"]},
        "of both": {"namespaces": ["facts", "plain"]},
    },
    "plain": {"far": {"k": 50, "weights": {"vector": 0.2}}},
    FRESH: {"of a session": {"filters": {"session_id": "s1"}}, "of two": {"namespaces": [FRESH, "facts"]}},
}


def recalls() -> Iterator[Asked]:
    """Each question in each way that its namespace has; every other of the further ways."""
    for namespace, questions in QUESTIONS.items():
        for nth, question in enumerate(questions):
            ways = [*EVERYWHERE.items(), *BESIDE[namespace].items()]
            for way, (name, fields) in enumerate(ways):
                if way < 2 or (nth + way) % 2 == 0:
                    yield Asked(f"{namespace}, {name}: {question}", namespace, {"query": question, "k": 6, "at": MOMENT, **fields})


WAYS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "far": {"k": 40},
    "as many as answer": {"k": "auto"},
    "of a user": {"user": "Anna", "weights": {"names": 1.4, "hierarchy": 0.2}},
    "of the past": {"as_of": day(200)},
    "of a time": {"filters": {"valid_after": day(60), "valid_before": day(400)}, "time_zone": "Asia/Kolkata"},
}
FORMS = (
    "What did {1} say about {0}?", "Where is {0} now?", "Who {0}?", "Did I {0}?", "What did I do last month?", "{0}", "{0} {2}",
    "What does {1} think of {2}?", "When did {1} go to {2} in January 2023?", "What did you suggest about {0}?",
    "Which of {1} and Bruno said {0}?", "How does my sister like {2}?", "{1}'s {0} in 2024", "Where does {1} work?",
)  # fmt: skip

KEPT = Path(__file__).parents[1] / "data" / "recorded_recalls.jsonl"
NEAR = 2e-5  # scores that differ by less are the same: processors add the numbers of vectors in different orders
Hit = tuple[str, float, float | None]


class Recorder:
    """The world of MEMORIES behind a service whose worker stands still, and what is known of it."""

    def __init__(self, by_name: dict[str, Api], known_at: str, key: str, root: str) -> None:
        self.by_name, self.known_at, self.key, self.root = by_name, known_at, key, root
        self.names = {item["content"]: f"{space[0]}{n}" for space, items in MEMORIES.items() for n, item in enumerate(items)}

    def ask(self, asked: Asked) -> list[Hit]:
        """The hits of a recall: which, score, relevance."""
        body, headers = dict(asked.body), {}
        if body.pop("key", False):
            headers["Authorization"] = f"Bearer {self.key}"
        if body.pop("known", False):
            body["known_at"] = self.known_at
        if body.pop("under", False):
            body["filters"] = {"under": self.root}
        results = ok(self.by_name[asked.namespace].post("/recall", body, headers=headers))["results"]
        return [(self.name(row), row["score"], row["relevance"]) for row in results]

    def name(self, row: dict[str, Any]) -> str:
        """A short name of a result: of memories their number, of others what they say."""
        return self.names.get(row.get("content", ""), str(row.get("value", row.get("content"))))


def write(by_name: dict[str, Api], namespaces: tuple[str, ...]) -> None:
    """Write the memories of namespaces, in order."""
    for name in namespaces:
        ok(by_name[name].post("/memories/batch", {"items": MEMORIES[name]}))


def relate(api: Api) -> str:
    """Structure beside the facts: a hierarchy, whose root is returned, a link, an aspect with a rule, and what is forgotten."""
    found = api.recall("Anna works", arms=["lexical"], k=5)["results"]
    root, *others = [row["id"] for row in sorted(found, key=lambda row: (row["layer"], row["content"]))]
    for child in others[:2]:
        ok(api.client.patch(f"/memories/{child}", json={"parent_id": root}))
    ok(api.post(f"/memories/{root}/links", {"target_id": others[2], "type": "is_about", "strength": 0.8}), 201)
    under = ok(api.post("/entities/Northwind/aspects", {"name": "Rules", "weight": 0.7}), 201)["id"]
    ok(api.post(f"/aspects/{under}/attributes", {"content": "nobody flies", "kind": "constraint", "memory_id": others[3]}), 201)
    gone = api.recall("offices of Kappa Press", arms=["lexical"], k=2)["results"][1]["id"]
    ok(api.client.delete(f"/memories/{gone}"))
    return str(root)


@contextmanager
def clients(database: Database, *, worker: bool) -> Iterator[dict[str, Api]]:
    """A client for each namespace, of a service that embeds."""
    with serve(database, embedding={"provider": "static"}, worker=worker) as service, ExitStack() as stack:
        yield {name: Api(stack.enter_context(service.client(**{"X-Namespace": name})), name, service) for name in MEMORIES}


@pytest.fixture(scope="module")
def recorder(own_database: Database) -> Iterator[Recorder]:
    """The world, once it has its vectors and names; what is fresh has neither. Nothing is read while it is written."""
    with clients(own_database, worker=True) as by_name:
        for name, api in by_name.items():
            ok(api.post("/namespaces", json={"name": name}), 201)
    with clients(own_database, worker=False) as by_name:
        key = ok(by_name["talk"].post("/keys", json={"role": "reader", "namespaces": list(MEMORIES)}), 201)["key"]
        write(by_name, tuple(name for name in MEMORIES if name != FRESH))
        with psycopg.connect(own_database.app_url) as session:
            session.execute("select loci_api.begin_request(null, 'talk', 'writer')")
            session.execute("select loci_api.save_working_memory('talk', 'kettle', '\"a red kettle\"', 86400)")
            (known_at,) = session.execute("select clock_timestamp()").fetchone() or ()
        root = relate(by_name["facts"])
    with clients(own_database, worker=True):
        eventually(lambda: is_settled(own_database))
    with clients(own_database, worker=False) as by_name:
        write(by_name, (FRESH,))
        yield Recorder(by_name, known_at.isoformat(), key, root)


def test_recalls_of_all_kinds_answer_as_they_did(recorder: Recorder) -> None:
    asked = list(recalls())
    answers = [(each.name, recorder.ask(each)) for each in asked]
    if os.environ.get("LOCI_WRITE_DOCS") == "1":
        KEPT.write_text("".join(line(name, hits) for name, hits in answers), encoding="utf-8")
    kept = dict(json.loads(each) for each in KEPT.read_text(encoding="utf-8").splitlines())
    assert list(kept) == [name for name, _ in answers]
    assert {name: kept[name] for name, hits in answers if not same(hits, kept[name])} == {}


def test_a_recall_answers_in_one_call_as_in_steps(recorder: Recorder) -> None:
    apart, asked_twice, before = {}, 0, recalls_in_steps()
    for namespace, way in itertools.product(MEMORIES.keys() - {FRESH}, WAYS):
        for question in (*QUESTIONS[namespace], *further_questions(namespace)):
            asked_twice += 1
            asked = Asked(question, namespace, {"query": question, "k": 6, "at": MOMENT, **WAYS[way]})
            steps = asked._replace(body={**asked.body, "fusion": "linear"})  # stated, so that it is not the common case
            if not same(recorder.ask(asked), recorder.ask(steps)):
                apart[namespace, way, question] = (recorder.ask(asked), recorder.ask(steps))
    assert apart == {}
    assert recalls_in_steps() - before < 1.1 * asked_twice  # few that may be one call are not


def test_where_memories_wait_for_vectors_recalls_go_in_steps_at_once(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_call, "STEPS_SECONDS", 60.0)
    tried, done = phases("one_call"), recalls_in_steps()
    for question in QUESTIONS[FRESH]:
        recorder.ask(Asked(question, FRESH, {"query": question, "k": 6, "at": MOMENT}))
    assert phases("one_call") - tried <= 1
    assert recalls_in_steps() - done == len(QUESTIONS[FRESH])


def test_weights_that_add_up_to_more_than_a_number_holds_are_answered(recorder: Recorder) -> None:
    weights = {"vector": 1.7e308, "lexical": 1.7e308}
    assert recorder.ask(Asked("too much", "talk", {"query": "the cello", "k": 6, "weights": weights}))


def recalls_in_steps() -> float:
    """How many recalls this process has done in steps."""
    return phases("arms")


def phases(name: str) -> float:
    """How many recalls had a phase."""
    return REGISTRY.get_sample_value("loci_recall_phase_seconds_count", {"phase": name}) or 0.0


def further_questions(namespace: str) -> list[str]:
    """Questions made of words of a namespace's memories, with names, times and verbs of speech."""
    chance = random.Random(namespace)
    texts = [item["content"] for item in MEMORIES[namespace]]
    found = []
    for form in FORMS * 3:
        words = chance.choice(texts).split()
        start = chance.randrange(max(1, len(words) - 3))
        found.append(form.format(" ".join(words[start : start + 3]), chance.choice(PEOPLE), chance.choice(PLACES)))
    return found


def line(name: str, hits: list[Hit]) -> str:
    """A recall and its answer, as they are kept."""
    rows = [[key, round(score, 6), None if relevance is None else round(relevance, 6)] for key, score, relevance in hits]
    return json.dumps([name, rows], ensure_ascii=False, separators=(",", ":")) + "\n"


def same(hits: list[Hit], kept: list[Hit]) -> bool:
    """Whether places have the same scores and relevance, and what is not tied the same hits."""
    if len(hits) != len(kept):
        return False
    apart = [n for n, (_, score, _) in enumerate(kept) if not any(near(score, o[1]) for m, o in enumerate(kept) if m != n)]
    return all(near(a[1], b[1]) and near(a[2], b[2]) for a, b in zip(hits, kept, strict=True)) and all(
        hits[n][0] == kept[n][0] for n in apart if n < len(kept) - 1
    )


def near(one: float | None, other: float | None) -> bool:
    """Whether two figures are the same, but for the order in which a processor adds."""
    return one == other or (one is not None and other is not None and abs(one - other) <= NEAR * max(1, abs(other)))
