"""Two cells: servers of their own with logical replication, joined, and a service on each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from db.cells.cells import add_cell, set_cell
from tests.distributed.servers import Servers, running_servers

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
