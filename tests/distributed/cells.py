"""Two cells: servers of their own with logical replication, joined, and a service on each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from db.cells.cells import add_cell, set_cell
from db.cells.move import move_namespace
from tests.distributed.servers import Servers, running_servers
from tests.services import PATIENCE, Service, ok

LOGICAL = {
    "wal_level": "logical",
    "max_logical_replication_workers": "20",
    "max_sync_workers_per_subscription": "4",
    "max_worker_processes": "30",
    "max_replication_slots": "40",
    "max_wal_senders": "40",
    "wal_retrieve_retry_interval": "200ms",
}


@dataclass(frozen=True)
class Cells:
    """Two cells; the first has `default`."""

    one: Servers
    two: Servers

    def url(self, number: int) -> str:
        """A superuser's address of a cell's database."""
        return (self.one, self.two)[number - 1].primary.url()

    def value(self, number: int, statement: str) -> object:
        """What a statement returns in a cell."""
        return (self.one, self.two)[number - 1].primary.value(statement)


@dataclass(frozen=True)
class Pair:
    """Two cells with their services."""

    cells: Cells
    services: tuple[Service, Service]

    def client(self, number: int, **headers: str) -> httpx.Client:
        """A client of a cell's service."""
        service = self.services[number - 1]
        if service.url:
            return httpx.Client(base_url=f"{service.url}/api/v1", headers=headers, timeout=PATIENCE)
        return service.client(**headers)

    def team(self, number: int = 1) -> str:
        """A new namespace in a cell."""
        name = f"team-{uuid4().hex[:12]}"
        ok(self.client(number).post("/namespaces", json={"name": name}), 201)
        return name

    def key(self, number: int, name: str, role: str = "writer") -> str:
        """A new key in a namespace there."""
        made = ok(self.client(number, **{"X-Namespace": name}).post("/keys", json={"name": "agent", "role": role}), 201)
        return str(made["key"])

    def move(self, name: str, number: int, watch: Callable[[str], None] = lambda _: None) -> Any:
        """Move a namespace from the other cell."""
        return move_namespace(self.cells.url(3 - number), name, number, watch=watch)


@contextmanager
def running_cells(**settings: str) -> Iterator[Cells]:
    """Two cells that know each other, until the block ends."""
    with running_servers(0, **LOGICAL, **settings) as one, running_servers(0, **LOGICAL, **settings) as two:
        made = Cells(one, two)
        set_cell(made.url(1), 1)
        set_cell(made.url(2), 2)
        for number in (1, 2):
            add_cell(made.url(1), url=f"http://cell{number}.example", database_url=made.url(number))
        yield made
