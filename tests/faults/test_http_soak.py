"""Everything at once: honest callers keep their answers while one hostile actor of each kind does what it can.

`LOCI_SOAK_SECONDS=600 pytest -n 0 --log-cli-level=INFO tests/faults/test_http_soak.py` is the long one: it shows a table, and holds the
honest callers' p99 to three times what it is without the others. With 60 it is the same in little, and the table says the figure
beside which it stands. The short one looks at everything but that figure, which a busy
machine would decide, and ends as soon as each hostile actor has done its part.
"""

import logging
import multiprocessing
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy.engine import make_url

from db.pool import Origin
from service.access import analysts
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.faults.hostile import Enemy, at_work
from tests.faults.test_access_isolation_load import READS, WRITES, name_of, strays
from tests.faults.test_http_processes import Process, kill
from tests.llm.model_server import garbage, model_server
from tests.services import PATIENCE, eventually

pytestmark = pytest.mark.release

log = logging.getLogger(__name__)
SECONDS = float(os.environ.get("LOCI_SOAK_SECONDS", "3"))
OUT_OF_SERVICE = 3  # answers in a row: five seconds, in which a balancer that asks every five seconds sees two
LONG, MEASURED = SECONDS >= 300, SECONDS >= 60
HONEST, WITHIN = 4, 3.0
FLOODERS = 4 if MEASURED else 1  # each without a pause
TIMEOUT = "5s" if MEASURED else "1s"  # of an analyst's statement that would take hours
MARK = re.compile(r"mk(\d\d)mk")
STRANGE = re.compile(rf"mk(?!{HONEST:02})\d\dmk")  # a mark that is not the enemy's own
ACTS = {
    "invite",
    "flood",
    "batch",
    "no key",
    "half sent",
    "trickle",
    "stream",
    "body",
    "import",
    "text",
    "slow body",
    "wrong key",
    "analyst",
}  # what there must be to see
LIES = (  # of the model
    {"decisions": [{"action": "delete", "id": "all"}], "facts": [None]},
    '{"decisions":[' + "{}," * 40_000 + "{}]}",
    '{"decisions":[],"more":"e' + "\u0301\u0323" * 50_000 + '"}',
    garbage(b"[" + b"[]," * 1_000_000 + b"1]", "application/json"),
)
FINE = {200, 201, 204, 207, 404, 409, 410}  # 404 and 409: honest callers also ask for what is gone, and correct each other


@dataclass
class Honest:
    """A caller with a room of its own, that waits a little between its calls."""

    number: int
    key: str
    base: str
    took: dict[str, list[tuple[str, float, float]]] = field(default_factory=lambda: {"alone": [], "with the others": []})
    statuses: Counter[int | str] = field(default_factory=Counter)
    written: dict[str, str] = field(default_factory=dict)  # what was acknowledged: id and content
    wrong: list[str] = field(default_factory=list)

    def run(self, phase: str, running: Callable[[], bool]) -> None:
        """Ask until the end of a phase, five times a second."""
        dice = random.Random(f"{self.number} {phase}")
        headers = {"Authorization": f"Bearer {self.key}", "X-Namespace": name_of(self.number)}
        with httpx.Client(base_url=self.base, headers=headers, timeout=PATIENCE, verify=False) as client:
            while running():
                began = time.monotonic()
                self.ask(client, dice, phase)
                time.sleep(max(0.0, 0.2 - (time.monotonic() - began)))

    def ask(self, client: httpx.Client, dice: random.Random, phase: str) -> None:
        """One request, and a look at its reply."""
        known = dice.choice(list(self.written) or [str(uuid4())])
        if dice.random() < 0.4:
            kind = dice.choice(["write", "write", "write", "batch", "patch", "entry", "turn", "entity"])
            method, path, body = WRITES[kind](dice, self.number, known)
        else:
            kind = dice.choice([k for k in READS if k not in {"export", "tool", "recall everywhere"}])
            method, path, body = READS[kind](dice, known)
        began = time.monotonic()
        try:
            reply = client.request(method, path, json=body)
        except httpx.TransportError as error:
            self.wrong.append(f"{kind}: {error!r}")
            return
        self.took[phase].append((kind, began, time.monotonic() - began))
        self.statuses[reply.status_code] += 1
        refused = reply.status_code in {429, 503} and "retry-after" in reply.headers
        if reply.status_code not in FINE and not refused:
            self.wrong.append(f"{kind} {reply.status_code}: {reply.text[:300]}")
        if {int(mark) for mark in MARK.findall(reply.text)} - {self.number}:
            self.wrong.append(f"{kind} shows what is another's: {reply.text[:300]}")
        if kind == "write" and reply.status_code == 201:
            self.written[reply.json()["id"]] = body["content"]


@dataclass
class Scene:
    """The service, its database, and who calls it."""

    database: Database
    port: int
    honest: list[Honest]
    enemy: Enemy
    unready: list[str] = field(default_factory=list)

    def phase(self, name: str, seconds: float, enough: Callable[[], bool] = lambda: True) -> None:
        """Let the honest ones call for so long, and until it is enough: from a process of their own, which only the service holds up."""
        context = multiprocessing.get_context("forkserver")
        wrote, stop, found = context.Event(), context.Event(), context.Queue()
        process = context.Process(target=call_all, args=(self.honest, self.port, name, wrote, stop, found), daemon=True)
        process.start()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds or (passed < PATIENCE and not (wrote.is_set() and enough())):
            time.sleep(0.1)
        stop.set()
        self.honest, unready = found.get(timeout=PATIENCE)
        self.unready += unready
        process.join(PATIENCE)

    def quantile(self, phase: str, share: float, of: str | None = None) -> float:
        """Of the honest callers' times, in milliseconds; `of` one kind of request."""
        return quantile([took for caller in self.honest for kind, _, took in caller.took[phase] if of in {None, kind}], share)

    def by_minute(self, phase: str) -> list[list[float]]:
        """The honest callers' times, in the order of the minutes in which they asked."""
        asked = sorted((began, took) for caller in self.honest for _, began, took in caller.took[phase])
        minutes: dict[int, list[float]] = {}
        for began, took in asked:
            minutes.setdefault(int((began - asked[0][0]) // 60), []).append(took)
        return list(minutes.values())


def call_all(honest: list[Honest], port: int, phase: str, wrote: Event, stop: Event, found: "Queue[Any]") -> None:
    """The honest ones, each in a thread, until the end of a phase; then what they know, and when the service was not ready."""
    os.setsid()

    def running() -> bool:
        return not stop.is_set()

    with ThreadPoolExecutor(HONEST + 1) as pool:
        calling = [pool.submit(caller.run, phase, running) for caller in honest]
        unready = pool.submit(watch, port, running)
        while running() and not any(caller.written for caller in honest):
            time.sleep(0.1)
        wrote.set()
        for each in calling:
            each.result()
        found.put((honest, unready.result()))


def watch(port: int, running: Callable[[], bool]) -> list[str]:
    """Ask whether it is ready, ten times a second; what it said where it was not for so long that it would be out of service."""
    unready = []
    with httpx.Client(timeout=PATIENCE, verify=False) as client:
        row = 0
        while running():
            reply = client.get(f"http://127.0.0.1:{port}/readyz")
            row = 0 if reply.status_code == 200 else row + 1
            if row == OUT_OF_SERVICE:
                unready.append(reply.text[:300])
            time.sleep(0.1)
    return unready


def quantile(times: list[float], share: float) -> float:
    """What so many of them stay under, in milliseconds."""
    return 1000 * sorted(times)[min(int(share * len(times)), len(times) - 1)] if times else 0.0


def world(database: Database) -> tuple[list[tuple[str, str, str]], tuple[str, str]]:
    """Rooms with a key each (agent, id and secret), and the enemy's room: its name and key."""
    made = []
    with psycopg.connect(database.app_url, row_factory=dict_row) as connection:
        act_as(connection, OPERATOR)
        for number in range(HONEST + 1):
            secret, key = f"loci_{uuid4().hex}_{uuid4().hex}", uuid4()
            connection.execute("select loci_api.create_namespace(%s)", [name_of(number)])
            row = connection.execute(
                "select agent_id from loci_api.create_key(%s, 'admin', 'k', %s, %s)",
                [name_of(number), key, sha256(secret.encode()).digest()],
            ).fetchone()
            made.append((str(row["agent_id"]), str(key), secret))  # type: ignore[index]
    return made[:-1], (name_of(HONEST), made[-1][2])


@pytest.fixture
def scene(server: Server, tmp_path: Path) -> Iterator[Scene]:
    """A service as `loci serve` starts it, with keys, a worker, and a model that lies."""
    database = server.clone("soak")
    rooms, (room, key) = world(database)
    login, password = f"soak_{uuid4().hex[:8]}", uuid4().hex
    analysts.create_analyst(
        database.admin_url,
        login=login,
        password=password,
        namespaces=[room],
        expires_at=None,
        timeout=TIMEOUT,
        origin=Origin(action="create", via="cli"),
    )
    with model_server(lambda _: random.choice(LIES)) as endpoint:
        environment = {"LOCI_REQUIRE_KEYS": "true", "LOCI_LLM__ENDPOINT": endpoint.url, "LOCI_LLM__MODEL": "scripted"}
        process = Process(database, tmp_path, "serve", "--port", "0", **environment)
        try:
            process.says("Loci listens on")
            found = re.search(r"http://127.0.0.1:(\d+)", process.said())
            assert found is not None
            port = int(found[1])
            base = f"http://127.0.0.1:{port}/api/v1"
            honest = [Honest(number, secret, base) for number, (_, _, secret) in enumerate(rooms)]
            url = make_url(database.admin_url).set(username=login, password=password).render_as_string(hide_password=False)
            enemy = Enemy(
                "127.0.0.1", port, key, room, url, [agent for agent, _, _ in rooms], [id_ for _, id_, _ in rooms], STRANGE
            )
            yield Scene(database, port, honest, enemy)
        finally:
            kill(process.process)
            analysts.drop_analyst(database.admin_url, login=login, origin=Origin(action="drop", via="cli"))
            server.drop(database)


def test_honest_callers_are_served_whatever_the_others_do(scene: Scene) -> None:
    scene.phase("alone", SECONDS / 3)
    with at_work(scene.enemy, ACTS, flooders=FLOODERS, aside=MEASURED) as done:
        scene.phase("with the others", SECONDS * 2 / 3, done.is_set)
    table(scene)

    assert [wrong for caller in scene.honest for wrong in caller.wrong] == []
    assert scene.unready == []
    assert scene.enemy.seen == []
    assert not [answer for answer in scene.enemy.answers if answer[1] in {500, 502, 504}]
    with scene.database.admin() as admin:
        kept = {str(id_): content for id_, content in admin.execute("select id, content from loci_data.memories")}
        waiting = "select count(*) from loci_data.name_queue"
        eventually(lambda: admin.execute(waiting).fetchone() == (0,))
    lost = [id_ for caller in scene.honest for id_, content in caller.written.items() if kept.get(id_) != content]
    assert lost == []
    marks, crossed = strays(scene.database)
    assert crossed == []
    # and there was something to see
    assert marks > 0 < sum(len(caller.written) for caller in scene.honest)
    assert {what for what, _ in scene.enemy.answers} >= ACTS
    if LONG:
        assert scene.quantile("with the others", 0.99) < WITHIN * scene.quantile("alone", 0.99)


def table(scene: Scene) -> None:
    """What was measured, for who reads along."""
    for phase in ("alone", "with the others"):
        asked = sum(len(caller.took[phase]) for caller in scene.honest)
        p50, p99 = (scene.quantile(phase, share) for share in (0.5, 0.99))
        log.info("honest callers %s: %d requests, p50 %.0f ms, p99 %.0f ms", phase, asked, p50, p99)
        for share in (0.5, 0.99):
            log.info("p%.0f by the minute: %s", 100 * share, [round(quantile(times, share)) for times in scene.by_minute(phase)])
    for kind in sorted({kind for caller in scene.honest for kind, _, _ in caller.took["with the others"]}):
        both = [scene.quantile(phase, share, kind) for phase in ("alone", "with the others") for share in (0.5, 0.99)]
        log.info("%-24s p50 %.0f, p99 %.0f ms alone; p50 %.0f, p99 %.0f ms with the others", kind, *both)
    log.info("statuses of honest callers: %s", dict(sum((caller.statuses for caller in scene.honest), Counter())))
    for (what, status), count in sorted(scene.enemy.answers.items(), key=str):
        log.info("%-24s %-12s %d", what, status, count)
