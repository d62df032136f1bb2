"""The service is killed between commit and reply: whoever sends the request again with its key loses nothing and doubles nothing."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.cli.conftest import environment_of
from tests.cli.test_cli_serve import free_port, wait_until_ready
from tests.databases import Database, Server
from tests.services import PATIENCE

KILLS, WRITERS = 4, 4


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    made = server.clone("retries")
    yield made
    server.drop(made)


def started(database: Database, port: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "serve", "--port", str(port)],
        env=environment_of(database, LOCI_EMBEDDING__PROVIDER="none"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_ready(process, port)
    return process


def test_requests_repeated_with_their_key_over_killed_services_write_once(database: Database) -> None:
    port, stop, replies = free_port(), threading.Event(), []

    def write() -> None:
        """Send each request until it is answered, with the same key."""
        while not stop.is_set():
            content, key, lineage = f"episode {uuid4().hex}", uuid4().hex, f"l{random.randrange(3)}"
            while True:
                try:
                    response = httpx.post(
                        f"http://127.0.0.1:{port}/api/v1/memories",
                        json={"content": content, "layer": 3, "lineage": lineage},
                        headers={"Idempotency-Key": key},
                        timeout=PATIENCE,
                    )
                except httpx.TransportError:
                    time.sleep(0.02)
                    continue
                if response.status_code == 201:
                    replies.append((content, response.json()["id"]))
                    break
                assert response.status_code == 503, response.text

    process = started(database, port)
    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(KILLS):
            time.sleep(random.uniform(0.1, 0.5))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = started(database, port)
    finally:
        time.sleep(0.2)
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        process.kill()
        process.communicate()
    with psycopg.connect(database.admin_url) as admin:
        stored = admin.execute("select content, id::text from loci_data.memories").fetchall()
    assert len(replies) > KILLS * WRITERS
    assert sorted(stored) == sorted(replies)
