"""Many clients at once: every request has a reply, and none is an error of the service."""

import asyncio

import httpx

from bench.load import KINDS, clients_at_once, prepare
from tests.databases import Server
from tests.services import PATIENCE, serve

CLIENTS = 8
SECONDS = 3.0


def test_eight_clients_that_read_and_write_at_once_see_no_server_error(server: Server) -> None:
    database = server.clone("load")
    with serve(database, tcp=True, require_keys=False) as running:
        with httpx.Client(base_url=f"{running.url}/api/v1", timeout=PATIENCE) as client:
            places = prepare(client, namespaces=3, seeded=20)
        tally = asyncio.run(clients_at_once(list(range(CLIENTS)), running.url, places, SECONDS))
    server.drop(database)
    assert tally.failed == 0, tally.statuses
    assert set(tally.statuses) <= {"200", "201", "204", "404"}, tally.statuses
    assert len(tally.seconds) > len(KINDS) / 2
