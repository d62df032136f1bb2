"""A day of three agents in one namespace: a user's session, a patrol and a subagent, for 30 turns at once, each with a key of its own."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.databases import Server
from tests.services import PATIENCE, Service, eventually, ok, serve

Row = dict[str, Any]
TURNS = 30  # more than the twenty that a context replays
SUBJECTS = ("Alice", "Bob", "Carla", "David", "Emine")
DOINGS = ("moved to Lisbon", "adopted a cat called Pixel", "plays the cello", "works on the RockBot project", "is allergic to nuts",
          "runs the marathon in May", "paints with Carla", "lost a bicycle at the station")  # fmt: skip


@dataclass
class Agent:
    """A client with a key and a space of its own that counts what it sends."""

    client: httpx.Client
    session: str
    space: str
    sent: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)
    contexts: int = 0

    def call(self, method: str, route: str, path: str | None = None, status: int = 200, **options: Any) -> Any:
        """Send a request to a route; its reply must have this status."""
        response = self.client.request(method, path or route, **options)
        self.sent[method, f"/api/v1{route}", str(response.status_code)] += 1
        return ok(response, status)

    def remember(self, content: str, **fields: Any) -> Row:
        """Write a memory."""
        return self.call("POST", "/memories", status=201, json={"content": content, **fields})

    def note(self, key: str, value: Any, **fields: Any) -> Row:
        """Write into the own space of working memory."""
        return self.call("PUT", "/working-memory/{key}", f"/working-memory/{key}", json={"value": value, **fields})

    def context(self, message: str | None) -> Row:
        """Build a context, and keep what it showed."""
        body = {"session_id": self.session, "space": self.space, **({"message": message} if message else {})}
        built = self.call("POST", "/context", json=body)
        self.contexts += 1
        self.shown += [memory["id"] for memory in built["memories"]]
        return built


@dataclass
class Day:
    """What happened, and what the metrics said before and after."""

    service: Service
    user: Agent
    patrol: Agent
    subagent: Agent
    spoken: list[Row]
    alerts: list[str]
    research: list[str]
    before: dict[tuple[str, tuple[str, ...]], float]
    after: dict[tuple[str, tuple[str, ...]], float]

    @property
    def agents(self) -> tuple[Agent, Agent, Agent]:
        """All three."""
        return self.user, self.patrol, self.subagent

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Rows of the database, past the service."""
        with psycopg.connect(self.service.database.admin_url) as admin:
            return admin.execute(statement, parameters).fetchall()

    def grown(self, name: str, *labels: str) -> float:
        """By how much a metric has grown in the day."""
        return self.after.get((name, labels), 0) - self.before.get((name, labels), 0)


def conversation() -> list[tuple[str, str]]:
    """The turns: who, and what."""
    return [
        (SUBJECTS[n % 2], f"{SUBJECTS[n % 5]} {DOINGS[n % 8]}, and on day {n} {SUBJECTS[n % 3]} {DOINGS[(n * 3 + 1) % 8]}.")
        for n in range(TURNS)
    ]


def metrics(client: httpx.Client) -> dict[tuple[str, tuple[str, ...]], float]:
    """Samples of /metrics by name and values of their labels, in the order of the labels' names."""
    text = client.get("http://loci/metrics").text
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in parsed(text)
        for sample in family.samples
    }


def user_day(agent: Agent, turns: list[tuple[str, str]], spoken: list[Row], beat: Callable[[int], None]) -> None:
    """Each turn is kept in the conversation and as a memory; before each second one a context is built."""
    for number, (speaker, text) in enumerate(turns):
        role = "user" if number % 2 == 0 else "assistant"
        if role == "user":
            built = agent.context(text)
            assert len(built["turns"]) == min(number, 20)
        said = agent.call("POST", "/conversations/{session}/turns", f"/conversations/{agent.session}/turns", 201,
                          json={"role": role, "content": text, "metadata": {"speaker": speaker}})  # fmt: skip
        spoken.append(said)
        agent.remember(text, source=speaker, session_id="the conversation", layer=3)
        if number % 10 == 0:
            agent.note(f"draft_{number // 10}", {"turn": number}, tags=["draft"])
        beat(number)


def patrol_day(agent: Agent, ready: Iterator[int], alerts: list[str]) -> None:
    """Every tenth turn: a look around, an alert that soon expires and one that stays, and a new version of the state."""
    for number in ready:
        alerts.append(f"Patrol after turn {number}: the mailbox holds {number} messages")
        agent.remember(alerts[-1], lineage="mailbox", category="project-context/mailbox")
        agent.note("patrol/heartbeat/latest_alert", alerts[-1], tags=["urgent"], category="patrol-finding")
        agent.note("patrol/heartbeat/flash", "gone in a moment", ttl_seconds=0.05)
        built = agent.context("What is in the mailbox?")
        assert built["patrol"] == built["subagents"] == []
        assert {entry["key"] for entry in built["working_memory"]} <= {"patrol/heartbeat/latest_alert", "patrol/heartbeat/flash"}


def subagent_day(agent: Agent, ready: Iterator[int], research: list[str]) -> None:
    """Every tenth turn: a chunk of research and its index, and what was learnt as a memory."""
    for number in ready:
        research.append(f"Research step {number}: RabbitMQ keeps {number} queues")
        agent.note(f"subagent/t1/chunk_{number}", research[-1], ttl_seconds=0.2)
        agent.note("subagent/t1/research-index", {"chunks": len(research)})
        agent.remember(research[-1], lineage="queues", entities=[{"name": "RabbitMQ", "type": "technology"}])
        built = agent.context("How many queues does RabbitMQ keep?")
        assert built["patrol"] == built["subagents"] == []


def live_day(service: Service) -> Day:
    """Run the three agents side by side: each tenth turn of the user lets the two others do a step."""
    clients = []

    def agent(name: str, session: str, space: str) -> Agent:
        with service.client() as operator:
            key = ok(
                operator.post("/keys", json={"name": name, "role": "writer", "space": space}, headers={"X-Namespace": "day"}), 201
            )["key"]
        clients.append(service.client(Authorization=f"Bearer {key}", **{"X-Namespace": "day", "X-Space": space}))
        return Agent(clients[-1], session, space)

    with service.client() as operator:
        ok(operator.post("/namespaces", json={"name": "day", "settings": {"working_memory_ttl": 86400}}), 201)
    trio = (
        agent("user", "abc", "session/abc"),
        agent("patrol", "patrol run", "patrol/heartbeat"),
        agent("sub", "task t1", "subagent/t1"),
    )
    spoken: list[Row] = []
    alerts: list[str] = []
    research: list[str] = []
    beats = [threading.Semaphore(0), threading.Semaphore(0)]

    def beat(number: int) -> None:
        if number % 10 == 0:
            for semaphore in beats:
                semaphore.release()

    def ready(semaphore: threading.Semaphore) -> Iterator[int]:
        for number in range(0, TURNS, 10):
            assert semaphore.acquire(timeout=PATIENCE), "the user's day has stopped"
            yield number

    before = metrics(clients[0])
    with ThreadPoolExecutor(3) as pool:
        days = [
            pool.submit(user_day, trio[0], conversation(), spoken, beat),
            pool.submit(patrol_day, trio[1], ready(beats[0]), alerts),
            pool.submit(subagent_day, trio[2], ready(beats[1]), research),
        ]
        for day in days:
            day.result(timeout=PATIENCE)
    with service.client() as operator:
        eventually(lambda: not any(v for k, v in ok(operator.get("/namespaces/day")).items() if k.startswith("pending_")))
    lived = Day(service, *trio, spoken, alerts, research, before, {})
    vectors = lived.rows("select (select count(*) from loci_data.memory_vectors) + (select count(*) from loci_data.entity_vectors)")

    def embedded() -> bool:  # what a worker counts comes after its commit
        lived.after = metrics(clients[0])
        return lived.grown("loci_embedded_total") >= vectors[0][0]  # of the process: workers of other tests may still write

    eventually(embedded)
    return lived


@pytest.fixture(scope="module")
def day(server: Server) -> Iterator[Day]:
    """One day for all promises of this module."""
    database = server.clone("day")
    with serve(database, embedding={"provider": "static"}) as service:
        yield live_day(service)
    server.drop(database)


def test_no_memory_is_injected_twice_into_a_session(day: Day) -> None:
    for agent in day.agents:
        assert [shown for shown, times in Counter(agent.shown).items() if times > 1] == []
        kept = day.rows("select memory_id::text from loci_data.injections where session_id = %s", agent.session)
        assert sorted(shown for (shown,) in kept) == sorted(agent.shown)
        assert agent.shown


def test_every_turn_is_there_once_and_in_order(day: Day) -> None:
    turns = ok(day.user.client.get(f"/conversations/{day.user.session}/turns", params={"limit": TURNS}))["items"]
    assert [turn["content"] for turn in turns] == [text for _, text in conversation()]
    assert [turn["id"] for turn in turns] == sorted({turn["id"] for turn in turns})
    assert [turn["role"] for turn in turns[:2]] == ["user", "assistant"]


def test_expired_entries_go_and_the_others_stay(day: Day) -> None:
    flash = "patrol/heartbeat/flash"
    eventually(lambda: day.user.client.get(f"/working-memory/{flash}").status_code == 404)
    assert "flash" not in day.user.client.post("/working-memory/search", json={"query": "moment", "prefix": "patrol"}).text
    assert _keys(day, "session") == {f"session/abc/draft_{n}" for n in range(TURNS // 10)}
    assert _keys(day, "patrol") == {"patrol/heartbeat/latest_alert"}
    eventually(lambda: _keys(day, "subagent") == {"subagent/t1/research-index"})  # the last chunk may still have its moment
    assert ok(day.user.client.get("/working-memory/patrol/heartbeat/latest_alert"))["value"] == day.alerts[-1]
    built = ok(day.user.client.post("/context", json={"session_id": "another", "message": "Anything new?"}))
    assert [entry["key"] for entry in built["patrol"]] == ["patrol/heartbeat/latest_alert"]
    assert [entry["key"] for entry in built["subagents"]] == ["subagent/t1/research-index"]
    with day.service.database.admin() as admin:
        left = "select count(*) from loci_data.working_memory where expires_at < now()"
        eventually(lambda: admin.execute(left).fetchone() == (0,))


@pytest.mark.parametrize("lineage", ["mailbox", "queues"])
def test_history_has_every_version_in_the_order_of_writing(day: Day, lineage: str) -> None:
    written = day.alerts if lineage == "mailbox" else day.research
    versions = ok(day.user.client.get(f"/entities/{lineage}/history", params={"limit": 100}))["items"]
    assert [version["content"] for version in versions] == written
    assert [version["version"] for version in versions] == list(range(1, len(written) + 1))
    assert [version["valid_to"] for version in versions] == [*(version["valid_from"] for version in versions[1:]), None]


def test_each_memory_was_written_once(day: Day) -> None:
    counts = ok(day.user.client.get("/namespaces/day"))
    texts = Counter(text for _, text in conversation())
    assert counts["memories"] == texts.total() + len(day.alerts) + len(day.research)


def test_the_metrics_add_up(day: Day) -> None:
    sent = sum((agent.sent for agent in day.agents), Counter[tuple[str, str, str]]())
    for (method, route, status), times in sent.items():
        assert day.grown("loci_requests_total", method, route, status) == times, (method, route, status)
    for route in {route for _, route, _ in sent}:
        assert day.grown("loci_request_seconds_count", route) == sum(times for (_, r, _), times in sent.items() if r == route)
    assert not any(day.grown(name, *labels) for name, labels in day.after if name == "loci_requests_total" and labels[-1] >= "500")
    assert day.grown("loci_contexts_total", "session") == day.user.contexts == TURNS / 2
    assert day.grown("loci_contexts_total", "patrol") == day.patrol.contexts
    assert day.grown("loci_contexts_total", "subagent") == day.subagent.contexts
    assert day.grown("loci_injected_total") == sum(len(agent.shown) for agent in day.agents)
    assert day.grown("loci_worker_failures_total", "vectors") == day.grown("loci_worker_failures_total", "names") == 0


def _keys(day: Day, prefix: str) -> set[str]:
    """Keys that a listing shows below a prefix."""
    return {entry["key"] for entry in ok(day.user.client.get("/working-memory", params={"prefix": prefix, "limit": 100}))["items"]}
