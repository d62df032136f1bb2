"""Databases of a test run: one server, one migrated template, clones of it."""

import fcntl
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row, scalar_row
from sqlalchemy.engine import make_url

from db.embedded import EmbeddedServer
from db.embedded.cluster import CONFIGURATION
from db.embedded.logins import OWN_ROLES
from db.migrate import upgrade
from migrations.schema_files import STAY
from tests.catalogue import ROOT

VERSION = int(os.environ.get("LOCI_TEST_POSTGRES", "18"))
ADMIN_URL = os.environ.get("LOCI_TEST_URL")
# What `discard all` does, but for plans, which are what a session is kept for, and for statements that the driver has prepared.
# One text, sent at once: a test borrows two sessions, and each statement would be a round trip.
FORGET: LiteralString = "close all; reset session authorization; reset all; unlisten *; discard temp; discard sequences"
ENDING = 180.0  # seconds that sessions may take to end once they are told
# An extension's own process in a database (that of Citus) is somebody who uses it, so that nobody could copy it.
LEAVE: LiteralString = """
    select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s and backend_type like 'Citus%%'"""
NO_AUTOVACUUM: LiteralString = """
    do $$ declare v_table regclass; begin
        for v_table in select c.oid from pg_class c where c.relnamespace = 'loci_data'::regnamespace and c.relkind = 'r' loop
            execute format('alter table %s set (autovacuum_enabled = off)', v_table);
        end loop;
    end $$"""
LIMITS = r'"(walk_ms|traverse_ms)": (\d+)'  # defaults of settings
PASSWORD = os.environ.get("LOCI_TEST_APP_PASSWORD", "loci")  # of loci_app where the server asks for it, and of what tests make
MEMORY = Path("/dev/shm")  # a file system in memory, on Linux
ROOM = 4 * 2**30  # bytes that must be free there, and of the machine: a run takes a quarter of that


def place_of_servers() -> Path | None:
    """Where servers of tests keep their files: in memory where there is room, else where all temporary files are, as TMPDIR says.

    A database is a thousand files, and a run makes and removes hundreds of databases.
    """
    if os.environ.get("TMPDIR") or not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    found = os.statvfs(MEMORY)
    available = re.search(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    free = min(found.f_bavail * found.f_frsize, int(available[1]) * 1024 if available else 0)
    return MEMORY if free >= ROOM and not found.f_flag & os.ST_NOEXEC else None  # some tests put programs there


def url_for(url: str, database: str, user: str | None = None) -> str:
    """The same server, another database, and another user if given."""
    parts = make_url(url).set(database=database)
    if user is not None:
        parts = parts.set(username=user, password=PASSWORD if ADMIN_URL or user not in OWN_ROLES else None)
    return parts.render_as_string(hide_password=False)


class Sessions:
    """Sessions that stay open from test to test: their catalogue and the plans of functions are read and made once.

    Whoever borrows one finds it as if it were new. One that a test has closed, or the server, is replaced.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[psycopg.Connection[DictRow]] = []

    @contextmanager
    def borrowed(self, *, autocommit: bool = False) -> Iterator[psycopg.Connection[DictRow]]:
        """A session until the end of the block; what is open then is rolled back, and all that was set in it is forgotten."""
        connection = self._idle.pop() if self._idle else psycopg.connect(self._url, row_factory=dict_row)
        connection.autocommit, connection.row_factory = autocommit, dict_row
        try:
            yield connection
        finally:
            if self._anew(connection):
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """End them all."""
        while self._idle:
            self._idle.pop().close()

    @staticmethod
    def _anew(connection: psycopg.Connection[DictRow]) -> bool:
        """Forget what a test has left; False where that cannot be done."""
        try:
            connection.rollback()
            connection.row_factory = dict_row
            connection.autocommit = True
            connection.execute(FORGET)
        except psycopg.Error:
            return False
        return True


@dataclass(frozen=True)
class Database:
    """A migrated database: how its owner and how the service's restricted role reach it."""

    name: str
    admin_url: str
    app_url: str
    endings: list[Callable[[], object]] = field(default_factory=list, compare=False, repr=False)  # what to do before it is dropped

    @cached_property
    def app_sessions(self) -> Sessions:
        """Sessions as loci_app."""
        return self._sessions(self.app_url)

    @cached_property
    def admin_sessions(self) -> Sessions:
        """Sessions as the one who migrates."""
        return self._sessions(self.admin_url)

    def _sessions(self, url: str) -> Sessions:
        made = Sessions(url)
        self.endings.append(made.close)
        return made

    def admin(self) -> psycopg.Connection:
        """Connect as the one who migrates; autocommit."""
        return psycopg.connect(self.admin_url, autocommit=True)

    def app(self) -> psycopg.Connection:
        """Connect as loci_app."""
        return psycopg.connect(self.app_url)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that the tests may make databases on."""

    admin_url: str
    run: str

    def execute(self, statement: LiteralString, *names: str) -> None:
        """Run a statement with identifiers in the maintenance database."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def empty(self, name: str) -> Database:
        """Make a database without a schema."""
        self.execute("create database {}", name)
        return self.reach(name)

    def reach(self, name: str) -> Database:
        """How a database is reached."""
        return Database(name, url_for(self.admin_url, name), url_for(self.admin_url, name, "loci_app"))

    def template(self) -> Database:
        """The migrated template of this run, made by whoever asks first."""
        name = f"{self.run}_template"
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(hashtext(%s))", [name])
            if connection.execute("select from pg_database where datname = %s", [name]).fetchone() is None:
                made = self.empty(f"{name}_{secrets.token_hex(4)}")  # whoever is ended meanwhile leaves none of that name
                upgrade(made.admin_url, app_password=PASSWORD if ADMIN_URL else None)
                with made.admin() as admin:
                    unhurried(admin)
                once_left(lambda: self.execute("alter database {} rename to {}", made.name, name))
        return self.reach(name)

    def clone(self, label: str = "", *, of: Database | None = None) -> Database:
        """A fresh copy of the template, or of another one, with the settings that its roles have there."""
        template = of or self.template()
        name = f"{self.run}_{label or 'clone'}_{secrets.token_hex(4)}"
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(hashtext(%s))", [template.name])  # one copy at a time
            connection.execute(LEAVE, [template.name])
            copied = sql.SQL("create database {} template {} strategy file_copy")  # a third of the work where nothing is flushed
            once_left(lambda: connection.execute(copied.format(sql.Identifier(name), sql.Identifier(template.name))))
        _copy_role_settings(template, self.reach(name))
        return self.reach(name)

    def left_alone(self, label: str) -> Database:
        """A copy in which autovacuum does nothing: no statistics of empty tables, and nobody waits while it cuts a table short."""
        quiet = self.reach(f"{self.run}_quiet")
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(hashtext(%s))", [quiet.name + " is made"])
            if connection.execute("select from pg_database where datname = %s", [quiet.name]).fetchone() is None:
                made = self.clone("quiet")
                with made.admin() as admin:
                    admin.execute(NO_AUTOVACUUM)
                once_left(lambda: self.execute("alter database {} rename to {}", made.name, quiet.name))
        return self.clone(label, of=quiet)

    def drop(self, database: Database) -> None:
        """Remove a database, whoever is connected."""
        for end in database.endings:
            end()
        once_left(lambda: self.execute("drop database if exists {} with (force)", database.name))


def once_left(change: Callable[[], object]) -> None:
    """Change a database once its sessions have ended. The server waits five seconds for those that have been told to."""
    until = time.monotonic() + ENDING
    while True:
        try:
            change()
        except psycopg.errors.ObjectInUse:  # not yet gone: the machine is slow
            if time.monotonic() > until:
                raise
        else:
            return


def as_shipped(connection: psycopg.Connection[Any]) -> None:
    """The defaults of settings as they are for everybody else."""
    _set_limits(connection, dict(re.findall(LIMITS, (ROOT / "sql" / "namespaces" / "settings.sql").read_text())))


def unhurried(connection: psycopg.Connection[Any]) -> None:
    """An hour for what a namespace answers within: a process that stands still for a moment would cut short what it answers."""
    _set_limits(connection, {"walk_ms": "3600000", "traverse_ms": "3600000"})


def _set_limits(connection: psycopg.Connection[Any], limits: dict[str, str]) -> None:
    cursor = connection.cursor(row_factory=scalar_row)
    definition: str = cursor.execute("select pg_get_functiondef('loci.default_settings()'::regprocedure)").fetchone()
    made, changed = re.subn(LIMITS, lambda found: f'"{found[1]}": {limits[found[1]]}', definition)
    assert changed == len(limits)
    connection.execute(cast("LiteralString", made))


def _copy_role_settings(source: Database, target: Database) -> None:
    """Give roles in `target` the settings that they have in `source`; creating from a template does not copy them."""
    with target.admin() as connection:
        connection.execute(STAY)
        connection.execute("select '[1]'::vector")  # loads the extension, and with it the names of its settings
        rows = connection.execute(
            """select r.rolname, split_part(c, '=', 1), substr(c, strpos(c, '=') + 1)
               from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
               join pg_database d on d.oid = s.setdatabase cross join unnest(s.setconfig) c where d.datname = %s""",
            [source.name],
        ).fetchall()
        for role, setting, value in rows:
            connection.execute("select set_config(%s, %s, false)", [setting, value])
            connection.execute(
                sql.SQL("alter role {} in database {} set {} from current").format(
                    sql.Identifier(role), sql.Identifier(target.name), sql.SQL(cast("LiteralString", setting))
                )
            )


def made_once(name: str, folder: Path, make: Callable[[], object]) -> None:
    """Have the files of a server that does not run in a folder. The first one of a run makes them there; others get copies.

    To copy them takes a tenth of the processor's time that initdb and the migration take.
    """
    if "LOCI_TEST_DIR" not in os.environ:  # no test run: `python -m tests.year`
        make()
        return
    kept = Path(os.environ["LOCI_TEST_DIR"]) / name
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            make()
            new = kept.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)  # of one that was ended meanwhile
            subprocess.run(["cp", "-a", folder, new], check=True)
            new.rename(kept)
            return
    subprocess.run(["cp", "-a", kept, folder], check=True)


@contextmanager
def data_folder(*, migrated: bool = False) -> Iterator[Path]:
    """A folder for an embedded server. Not one of pytest's: each run that begins closes those of all to other users of the machine."""
    with tempfile.TemporaryDirectory(prefix="loci-server-", dir=place_of_servers(), ignore_cleanup_errors=True) as folder:
        if migrated:
            migrated_embedded(Path(folder))
        yield Path(folder)


def migrated_embedded(folder: Path) -> None:
    """Have the data of an embedded server in a folder, with a migrated database. It does not run."""

    def make() -> None:
        embedded = EmbeddedServer(folder, VERSION)
        upgrade(embedded.connection_url("postgres"))
        embedded.leave_server()

    made_once("migrated-embedded", folder / "pg", make)


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """The server at LOCI_TEST_URL, or an embedded one in `folder` that all processes of the run share."""
    run = f"loci_{folder.name[-8:].lower()}"
    if ADMIN_URL:
        yield Server(ADMIN_URL, run)
        return
    CONFIGURATION["max_connections"] = "400"  # whatever tests run at the same time
    embedded = EmbeddedServer(folder, VERSION)
    admin_url = embedded.connection_url("postgres", "postgres")
    with psycopg.connect(admin_url, autocommit=True) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):  # survives a killed backend, not a cut of power
            connection.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(name)))
        connection.execute("select pg_reload_conf()")
    yield Server(admin_url, run)
    embedded.leave_server()
