"""Many clients at once: every request has a reply, and none is an error of the service."""

import asyncio
import time

import httpx

from bench.load import KINDS, Tally, clients_at_once, prepare
from tests.databases import Server
from tests.services import PATIENCE, serve

CLIENTS = 8
SECONDS = 0.4  # of a round; there are as many as it takes until each kind of request has had replies


def test_eight_clients_that_read_and_write_at_once_see_no_server_error(server: Server) -> None:
    database = server.clone("load")
    with serve(database, tcp=True, require_keys=False) as running:
        with httpx.Client(base_url=f"{running.url}/api/v1", timeout=PATIENCE) as client:
            places = prepare(client, namespaces=3, seeded=20)
        tally, began, first = Tally(), time.monotonic(), 0
        while set(tally.seconds) < set(KINDS) and time.monotonic() - began < PATIENCE:
            numbers = list(range(first, first + CLIENTS))  # what they ask for is drawn by their numbers
            tally.add(asyncio.run(clients_at_once(numbers, running.url, places, SECONDS)))
            first += CLIENTS
    server.drop(database)
    assert tally.failed == 0, tally.statuses
    assert set(tally.statuses) <= {"200", "201", "204", "404"}, tally.statuses
    assert set(tally.seconds) == set(KINDS)
