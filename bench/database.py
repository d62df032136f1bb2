"""An embedded server for the length of a benchmark, migrated, with direct connections beside the service's."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgvector.psycopg import register_vector
from psycopg import Connection

from bench.measure import Options
from db.embedded import EmbeddedServer
from db.migrate import upgrade
from db.pool import OPERATOR_AGENT


@dataclass(frozen=True)
class Database:
    """A migrated database, and the data folder that `loci serve` can be started over."""

    folder: Path
    server: EmbeddedServer

    def owner(self) -> Connection[Any]:
        """A superuser's connection, for bare statements: same planner and HNSW settings as the service's role."""
        connection = self._connect("postgres")
        for name, value in (("jit", "off"), ("hnsw.ef_search", "128"), ("hnsw.iterative_scan", "strict_order")):
            connection.execute("select set_config(%s, %s, false)", (name, value))
        return connection

    def app(self) -> Connection[Any]:
        """A connection of the service's role, speaking for the operator."""
        return self._connect("loci_app")

    def _connect(self, user: str) -> Connection[Any]:
        connection = Connection.connect(self.server.connection_url(user), autocommit=True, prepare_threshold=0)
        register_vector(connection)
        connection.execute("select set_config('loci.agent', %s, false)", (OPERATOR_AGENT,))
        return connection


@contextmanager
def database(options: Options) -> Iterator[Database]:
    """A database in the folder asked for, or in a temporary one."""
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # the embedded server may run as another user
        server = EmbeddedServer(folder, 18)
        try:
            upgrade(server.connection_url("postgres"))
            yield Database(folder, server)
        finally:
            server.leave_server()
