"""Fifty agents in fifty namespaces at once, while connections die and grants come and go: no row crosses.

Every text that is written into a namespace carries that namespace's mark. A reply may show only marks of namespaces that its agent could read
at some moment of the request; and in the end every row of every table may carry only the mark of its own namespace.
"""

import json
import logging
import os
import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from tests.catalogue import TABLES
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.services import Service, eventually, serve

log = logging.getLogger(__name__)
AGENTS = 50
REQUESTS = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 600
BETWEEN = (3, 9)  # requests that end from one accident to the next
MARK = re.compile(r"mk(\d\d)mk")
EXPECTED = {200, 201, 204, 207, 400, 403, 404, 409, 410, 422, 503, 504}
ACCEPT = {"Accept": "application/json, text/event-stream"}
Call = tuple[str, str, Any]  # method, path, body


def name_of(number: int) -> str:
    return f"room-{number:02}"


@dataclass
class Access:
    """When an agent could read a namespace: spans of time, that of a request to change it included."""

    spans: dict[tuple[int, int], list[list[float]]] = field(default_factory=lambda: defaultdict(list))

    def opens(self, agent: int, room: int, until: float = float("inf")) -> None:
        self.spans[agent, room].append([time.time(), until])

    def closes(self, agent: int, room: int) -> None:
        for span in self.spans[agent, room]:
            span[1] = min(span[1], time.time())

    def rooms(self, agent: int, since: float) -> set[int]:
        """Namespaces that the agent could read at some moment since then."""
        return {room for (who, room), spans in list(self.spans.items()) if who == agent and any(end >= since for _, end in spans)}


@dataclass
class Crowd:
    """Everyone, their keys, what they may read, and what was seen."""

    service: Service
    agents: list[str]
    keys: list[str]
    access: Access = field(default_factory=Access)
    ids: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int | str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    shared: int = 0  # replies that showed marks of rooms that are not the agent's own
    crossed: list[str] = field(default_factory=list)
    left: Iterator[int] = field(default_factory=lambda: iter(range(REQUESTS)))
    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))  # one for each request that has ended

    def next(self) -> int | None:
        with self.lock:
            return next(self.left, None)


# What an agent may ask


def text(dice: random.Random, room: int) -> str:
    """A sentence with the mark of a room, of words that all rooms share."""
    things = " ".join(dice.choices(["vault", "garden", "ledger", "harbour", "Alice", "Berlin", "Mercury", "letter"], k=4))
    return f"{things} mk{room:02}mk {dice.randrange(1000)}"


def memory(dice: random.Random, room: int) -> dict[str, Any]:
    item = {"content": text(dice, room), "category": f"work/mk{room:02}mk", "session_id": f"s{dice.randrange(3)}"}
    if dice.random() < 0.5:
        item["lineage"] = f"line-{dice.randrange(20)}"
    if dice.random() < 0.5:
        thing = {"name": f"Thing mk{room:02}mk {dice.randrange(5)}", "type": "tool"}
        item["entities"] = [{"name": "Alice", "type": "person"}, thing]
        item["edges"] = [{"source": "Alice", "type": "keeps", "target": thing["name"]}]
    return item


WRITES: dict[str, Callable[[random.Random, int, str], Call]] = {
    "write": lambda d, n, _: ("POST", "/memories", memory(d, n)),
    "batch": lambda d, n, _: ("POST", "/memories/batch", {"items": [memory(d, n) for _ in range(5)], "atomic": True}),
    "rolled back": lambda d, n, _: (
        "POST",
        "/memories/batch",
        {"items": [memory(d, n), {"content": text(d, n), "parent_id": str(uuid4())}], "atomic": True},
    ),
    "invalid": lambda d, n, _: ("POST", "/memories", {"content": text(d, n), "importance": 7}),
    "patch": lambda d, n, id_: ("PATCH", f"/memories/{id_}", {"metadata": {"note": text(d, n)}}),
    "forget": lambda _, __, id_: ("DELETE", f"/memories/{id_}", None),
    "entry": lambda d, n, _: ("PUT", f"/working-memory/plan-{d.randrange(4)}", {"value": text(d, n), "ttl_seconds": 600}),
    "turn": lambda d, n, _: ("POST", f"/conversations/s{d.randrange(3)}/turns", {"role": "user", "content": text(d, n)}),
    "entity": lambda d, n, _: ("POST", "/entities", {"name": f"Thing mk{n:02}mk {d.randrange(5)}", "description": text(d, n)}),
}
READS: dict[str, Callable[[random.Random, str], Call]] = {
    "recall": lambda d, _: ("POST", "/recall", {"query": d.choice(["vault garden", "Alice Berlin", "letter"]), "k": 20}),
    "recall everywhere": lambda _, __: ("POST", "/recall", {"query": "vault letter Alice", "k": 50, "namespaces": "*"}),
    "list": lambda _, __: ("GET", "/memories?limit=50", None),
    "get": lambda _, id_: ("GET", f"/memories/{id_}", None),
    "history": lambda _, id_: ("GET", f"/memories/{id_}/history", None),
    "categories": lambda _, __: ("GET", "/categories", None),
    "namespaces": lambda _, __: ("GET", "/namespaces", None),
    "me": lambda _, __: ("GET", "/agents/me", None),
    "entities": lambda _, __: ("GET", "/entities", None),
    "entity": lambda _, __: ("GET", "/entities/Alice/history", None),
    "search entities": lambda _, __: ("POST", "/entities/search", {"query": "Thing"}),
    "edges": lambda _, __: ("GET", "/edges", None),
    "traverse": lambda _, __: ("POST", "/graph/traverse", {"start": ["Alice"], "max_hops": 2}),
    "constellation": lambda _, __: ("GET", "/knowledge/constellation", None),
    "context": lambda _, __: ("POST", "/context", {"message": "What does Alice keep?", "session_id": "s1"}),
    "entries": lambda _, __: ("POST", "/working-memory/search", {"query": "vault"}),
    "turns": lambda _, __: ("GET", "/conversations/s1/turns", None),
    "changes": lambda _, __: ("GET", "/changes?limit=200", None),
    "operations": lambda _, __: ("GET", "/operations?limit=50", None),
    "export": lambda _, __: ("GET", "/namespaces/{room}/export", None),
    "tool": lambda d, _: (
        "POST",
        "http://localhost/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": d.choice(["recall", "search_memory"]), "arguments": {"query": "vault letter"}},
        },
    ),
}


class Agent:
    """One of them, in a thread of its own."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        self.crowd, self.number, self.dice = crowd, number, random.Random(number)
        self.client = crowd.service.client(Authorization=f"Bearer {crowd.keys[number]}")
        self.pupil = (number - 13) % AGENTS  # to whom this one gives its room, and from whom it takes it back
        self.writable = [number, *([(number + 7) % AGENTS] if number % 5 == 0 else [])]

    def run(self) -> None:
        with self.client:
            while (turn := self.crowd.next()) is not None:
                if self.number % 3 == 0 and turn % 10 == 0:
                    self.share()
                else:
                    self.ask()
                self.crowd.answered.release()

    def ask(self) -> None:
        """Send one request: mostly to a room that it may use, sometimes to any, and with ids of any."""
        dice = self.dice
        if dice.random() < 0.4:
            room = dice.choice(self.writable)
            kind, made = dice.choice(list(WRITES.items()))
            call = made(dice, room, self.id_in(room))
        else:
            room = dice.choice([self.number, dice.randrange(AGENTS), *self.crowd.access.rooms(self.number, time.time())])
            kind, asked = dice.choice(list(READS.items()))
            call = asked(dice, self.id_in(dice.choice([room, dice.randrange(AGENTS)])))
        reply = self.send(kind, room, *call, hasty=dice.random() < 0.03)
        if reply is not None and kind == "write" and reply.status_code == 201:
            self.crowd.ids[room].append(reply.json()["id"])

    def id_in(self, room: int) -> str:
        return self.dice.choice(self.crowd.ids[room] or [str(uuid4())])

    def send(self, kind: str, room: int, method: str, path: str, body: Any, *, hasty: bool = False) -> httpx.Response | None:
        """Send, and look at every mark in the reply. A hasty client does not wait for it."""
        headers, started = {"X-Namespace": name_of(room), **(ACCEPT if path.endswith("/mcp") else {})}, time.time()
        sent = {} if body is None else {"content": json.dumps(body), "headers": {**headers, "Content-Type": "application/json"}}
        try:
            reply = self.client.request(
                method, path.replace("{room}", name_of(room)), **{"headers": headers, **sent}, timeout=0.004 if hasty else 120
            )
        except httpx.TransportError:  # left early, or a stream that broke off
            self.crowd.statuses["broken off"] += 1
            return None
        seen = {int(mark) for mark in MARK.findall(reply.text)}
        allowed = self.crowd.access.rooms(self.number, started)
        with self.crowd.lock:
            self.crowd.statuses[reply.status_code] += 1
            self.crowd.kinds[kind] += reply.status_code < 300
            self.crowd.shared += bool(seen - {self.number}) and seen <= allowed
            if not seen <= allowed:
                self.crowd.crossed.append(f"{kind} {path} of {self.number} in {room}: {seen - allowed}")
            if kind == "namespaces" and reply.status_code == 200:
                listed = {int(item["name"][-2:]) for item in reply.json()["items"]}
                self.crowd.crossed += [f"{self.number} lists {listed - allowed}"] * (not listed <= allowed)
        return reply

    def share(self) -> None:
        """Give the room to another for good or for a moment, or take it back."""
        access, dice = self.crowd.access, self.dice
        path = f"/grants/{self.crowd.agents[self.pupil]}"
        if dice.random() < 0.5:
            reply = self.send("revoke", self.number, "DELETE", path, None)
            if reply is not None and reply.status_code in (200, 404):
                access.closes(self.pupil, self.number)
            return
        until = time.time() + dice.uniform(0.2, 1.0) if dice.random() < 0.5 else None
        moment = {"expires_at": datetime.fromtimestamp(until, UTC).isoformat()} if until else {}
        access.opens(self.pupil, self.number, until or float("inf"))
        self.send("grant", self.number, "PUT", path, {"role": "reader", **moment})


# The scene


@pytest.fixture
def crowd(server: Server) -> Iterator[Crowd]:
    """Fifty rooms with their agents; some share theirs from the beginning."""
    database = server.clone("rooms")
    keys = [f"loci_{uuid4().hex}_{uuid4().hex}" for _ in range(AGENTS)]
    with psycopg.connect(database.app_url, row_factory=dict_row) as connection:
        act_as(connection, OPERATOR)
        agents = []
        for number, key in enumerate(keys):
            connection.execute("select loci_api.create_namespace(%s)", [name_of(number)])
            row = connection.execute(
                "select agent_id from loci_api.create_key(%s, 'admin', 'k', %s, %s)",
                [name_of(number), uuid4(), sha256(key.encode()).digest()],
            ).fetchone()
            agents.append(str(row["agent_id"]))  # type: ignore[index]
        made = [(n, (n + 1) % AGENTS, "reader") for n in range(0, AGENTS, 2)]
        made += [(n, (n + 7) % AGENTS, "writer") for n in range(0, AGENTS, 5)]
        for agent, room, role in made:
            connection.execute("select loci_api.set_grant(%s, %s, %s)", [name_of(room), agents[agent], role])
    with serve(database, require_keys=True, pool_size=12, embedding={"provider": "static"}) as service:
        scene = Crowd(service, agents, keys)
        for agent, room in [*((n, n) for n in range(AGENTS)), *((agent, room) for agent, room, _ in made)]:
            scene.access.opens(agent, room)
        yield scene
    server.drop(database)


@contextmanager
def accidents(crowd: Crowd) -> Iterator[Counter[str]]:
    """Connections of the service that die, and statements that are cancelled, each after some requests, until the block ends."""
    done, counts = threading.Event(), Counter[str]()

    def waited(dice: random.Random) -> bool:
        for _ in range(dice.randint(*BETWEEN)):
            crowd.answered.acquire()
        return not done.is_set()

    def strike() -> None:
        dice = random.Random(7)
        with crowd.service.database.admin() as admin:
            while waited(dice):
                kind = dice.choice(["pg_terminate_backend", "pg_cancel_backend", "pg_cancel_backend"])
                rows = admin.execute(
                    sql.SQL(
                        """select {}(pid) from pg_stat_activity where datname = current_database() and usename = 'loci_app'
                           and state <> 'idle' order by random() limit 1"""
                    ).format(sql.Identifier(kind))
                ).fetchall()
                counts[kind] += len(rows)

    striking = threading.Thread(target=strike)
    striking.start()
    try:
        yield counts
    finally:
        done.set()
        crowd.answered.release(BETWEEN[1])
        striking.join()


def strays(database: Database) -> tuple[int, list[tuple[Any, ...]]]:
    """How many marks stand in rows of all tables, and those that stand in a namespace which is not theirs."""
    found: list[tuple[Any, ...]] = []
    with database.admin() as admin:
        for table in TABLES:
            with suppress(psycopg.errors.UndefinedColumn):
                found += admin.execute(
                    sql.SQL(
                        """select {}, n.name, m[1], count(*) from loci_data.{} t join loci_data.namespaces n on n.id = t.namespace_id
                           cross join lateral regexp_matches(t::text, 'mk([0-9][0-9])mk', 'g') m group by 2, 3"""
                    ).format(sql.Literal(table), sql.Identifier(table))
                ).fetchall()
    return sum(row[3] for row in found), [row for row in found if row[1] != f"room-{row[2]}"]


@pytest.mark.release
@pytest.mark.row("X1")
def test_nothing_crosses_between_fifty_agents_whatever_dies_meanwhile(crowd: Crowd) -> None:
    started = time.monotonic()
    with accidents(crowd) as counts, ThreadPoolExecutor(AGENTS) as pool:
        for done in [pool.submit(Agent(crowd, number).run) for number in range(AGENTS)]:
            done.result()
    took = time.monotonic() - started
    log.info("%s requests in %.1f s: %s; %s shared; %s", REQUESTS, took, dict(crowd.statuses), crowd.shared, dict(counts))
    waiting = "select count(*) from loci_data.name_queue"
    with crowd.service.database.admin() as admin:  # what the worker does for all namespaces at once is looked at too
        eventually(lambda: admin.execute(waiting).fetchone() == (0,))
    marks, crossed = strays(crowd.service.database)
    log.info("%s marks in the rows of all tables, %s crossed", marks, len(crossed))

    assert crowd.crossed == []
    assert crossed == []
    assert set(crowd.statuses) - {"broken off"} <= EXPECTED
    assert sum(crowd.statuses.values()) == REQUESTS
    # and there was something to see
    answered = crowd.statuses[200] + crowd.statuses[201]
    assert answered > REQUESTS / 3  # accidents come by the number of requests, however fast the machine is
    assert crowd.statuses[403] > 0 < crowd.statuses[422]
    assert crowd.shared > 0
    assert marks >= crowd.statuses[201] > REQUESTS / 100  # what was acknowledged is there
    assert min(crowd.kinds[kind] for kind in ("write", "recall", "recall everywhere", "context", "export", "tool", "grant")) > 0
    assert counts["pg_terminate_backend"] > 0 < counts["pg_cancel_backend"]
