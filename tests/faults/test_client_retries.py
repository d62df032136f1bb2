"""The service is killed between commit and reply: whoever sends the request again with its key loses nothing and doubles nothing."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.databases import Database, Server
from tests.faults.test_http_processes import Group, kill
from tests.services import PATIENCE, eventually

KILLS, WRITERS = 3, 4


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    made = server.clone("retries")
    yield made
    server.drop(made)


@pytest.mark.release
@pytest.mark.row("M10")
def test_requests_repeated_with_their_key_over_killed_services_write_once(database: Database, tmp_path: Path) -> None:
    stop, chance = threading.Event(), random.Random(4)
    replies: list[tuple[str, str]] = []
    running = Group(database, tmp_path, 1, "--no-worker", LOCI_EMBEDDING__PROVIDER="none")

    def send(client: httpx.Client, content: str, key: str, lineage: str) -> bool:
        """Send a request to the service that runs now; whether it was answered."""
        body = {"content": content, "layer": 3, "lineage": lineage}
        try:
            response = client.post(
                f"http://127.0.0.1:{running.port}/api/v1/memories", json=body, headers={"Idempotency-Key": key}, timeout=PATIENCE
            )
        except httpx.TransportError:
            stop.wait(0.1)  # four who ask all the time would keep the next one from starting
            return False
        assert response.status_code in {201, 503}, response.text
        if response.status_code == 201:
            replies.append((content, response.json()["id"]))
        return response.status_code == 201

    def write() -> None:
        """Send each request until it is answered, with the same key."""
        with httpx.Client(verify=False) as client:
            while not stop.is_set():
                content, key, lineage = f"episode {uuid4().hex}", uuid4().hex, f"l{random.randrange(3)}"
                while not send(client, content, key, lineage):
                    pass

    try:
        with ThreadPoolExecutor(WRITERS) as pool:
            try:
                writing = [pool.submit(write) for _ in range(WRITERS)]
                for _ in range(KILLS):
                    answered = len(replies)
                    eventually(lambda: len(replies) > answered + WRITERS or any(each.done() for each in writing))  # noqa: B023
                    stop.wait(chance.uniform(0, 0.02))  # somewhere in the middle of a request
                    kill(running.process)
                    running = Group(database, tmp_path, 1, "--no-worker", LOCI_EMBEDDING__PROVIDER="none")
            finally:
                stop.set()
            for each in writing:
                each.result(PATIENCE)
    finally:
        kill(running.process)
    with psycopg.connect(database.admin_url) as admin:
        stored = admin.execute("select content, id::text from loci_data.memories").fetchall()
    assert len(replies) > KILLS * WRITERS
    assert sorted(stored) == sorted(replies)
