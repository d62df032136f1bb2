"""Two cells: servers of their own with logical replication, joined, and a service on each."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import uuid4

import httpx

from db.cells.cells import add_cell, set_cell
from db.cells.move import STEPS, move_namespace
from tests.distributed.servers import Servers, running_servers
from tests.services import PATIENCE, Service, ok

POINTS = ["planned", *(f"{step}{when}" for step in STEPS for when in (" unnoted", ""))]  # of a move, at which something dies
AGAIN = 503  # what a cell replies that has not the namespace any more, or not yet
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


@dataclass
class Reader:
    """Reads all namespaces of both cells; what arrives by a move it reads by name, behind what it has read of it."""

    pair: Pair
    cursors: dict[int, str] = field(default_factory=lambda: {1: "0", 2: "0"})
    places: dict[str, tuple[int, str]] = field(default_factory=dict)
    told: dict[tuple[str, int], str] = field(default_factory=dict)
    page: ClassVar[dict[str, Any]] = {"limit": 1000}

    def read(self, number: int) -> None:
        """Read what is new in a cell."""
        query = {**self.page, "namespace": "*", "after": self.cursors[number]}
        page = ok(self.pair.client(number).get("/changes", params=query))
        for row in page["items"]:
            if row["action"] == "moved" and row["kind"] == "namespace":
                self.read_by_name(number, row["namespace"], row["position"])
            self.take(row)
        self.cursors[number] = page["next_cursor"]

    def read_by_name(self, number: int, name: str, until: int) -> None:
        """Read what a namespace has brought along."""
        while self.places.get(name, (0, "0"))[0] < until:
            query = {**self.page, "namespace": name, "after": self.places.get(name, (0, "0"))[1]}
            page = self.pair.client(number).get("/changes", params=query)
            if page.status_code == AGAIN:  # it has gone on: its next cell says so
                return
            for row in ok(page)["items"]:
                self.take(row)

    def take(self, row: dict[str, Any]) -> None:
        """Take note of a change."""
        self.told[row["namespace"], row["position"]] = json.dumps([row["kind"], row["action"], row["subject_id"]])
        if row["position"] == self.places.get(row["namespace"], (0, "0"))[0] + 1:
            self.places[row["namespace"]] = (row["position"], row["cursor"])


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
