"""Analysts: logins of the server that may query in SQL, and see what they were granted.

Logins are made by whoever may make roles (the URL of migrations), all the rest by SQL functions. Names are quoted by psycopg, and a
password leaves this process as a SCRAM verifier, so that no log of statements can hold it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import LiteralString, TypedDict, cast
from uuid import UUID

import orjson
from psycopg import Connection, sql
from psycopg import errors as pg

from db.errors import Conflict
from db.pool import OPERATOR_AGENT, JsonObject, Origin, Transaction
from migrations.schema_files import STAY

CONNECTIONS = 3  # sessions that an analyst may have open
# Beside what loci_analyst has: a login inherits rights from its group, but no settings. The analyst can change these.
SETTINGS: dict[LiteralString, str] = {
    "idle_in_transaction_session_timeout": "60s",
    "idle_session_timeout": "20min",
    "lock_timeout": "5s",
    "work_mem": "32MB",
    "max_parallel_workers_per_gather": "0",
    "enable_seqscan": "off",  # then a query reads what its namespaces hold, and not what others keep in the same tables
    "default_transaction_read_only": "on",
}
TEMPORARY_FILES = "4GB"
LOCK_TIMEOUT = "10s"  # of who makes and drops logins


class AnalystRow(TypedDict):
    """A login and the namespaces that it may read now."""

    login: str
    agent_id: UUID
    namespaces: list[JsonObject]
    statement_limit: timedelta
    created_at: datetime


class AnalystPlace(TypedDict):
    """A cell in which an analyst may read namespaces, and the URL of its database."""

    cell: int
    database_url: str
    namespaces: list[str]


class StoppedSession(TypedDict):
    """A session of an analyst that ran, idled or stood in the way for too long (`reason`), and whether it was ended."""

    login: str
    pid: int
    ended: bool
    reason: str


@contextmanager
def _open_owner_transaction(url: str, origin: Origin) -> Iterator[Connection]:
    """Open a transaction of the one who may make roles, which acts for the operator."""
    with Connection.connect(url, connect_timeout=10) as connection:
        connection.execute("select set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        connection.execute(STAY)
        connection.execute(
            """select set_config('loci.agent', %s, true), set_config('loci.origin', %s, true),
                      set_config('loci.operation', %s, true)""",
            [OPERATOR_AGENT, orjson.dumps(asdict(origin)).decode(), origin.operation_id or ""],
        )
        yield connection


def create_analyst(
    url: str,
    *,
    login: str,
    password: str,
    namespaces: list[str],
    expires_at: datetime | None,
    timeout: str,
    origin: Origin,
) -> bool:
    """Make a login that reads `namespaces`, whole or not at all; whether the server also limits its temporary files.

    Raises Conflict if the role exists, psycopg.errors.InsufficientPrivilege if `url` may not make roles.
    """
    with _open_owner_transaction(url, origin) as connection:
        role = sql.Identifier(login)
        try:
            connection.execute(
                sql.SQL("create role {} login connection limit {} password {}").format(
                    role, sql.Literal(CONNECTIONS), sql.Literal(_make_verifier(connection, login, password))
                )
            )
        except pg.DuplicateObject:
            raise Conflict(
                f"the server has a role {login!r} already", hint="Choose another name; roles are shared by all databases."
            ) from None
        connection.execute(
            "select loci_api.create_analyst_agent(%s::name, %s, %s, %s::interval)", [login, namespaces, expires_at, timeout]
        )
        # The service is a member of the login, so that it may stop its statements (loci_api.stop_analysts), and nothing else.
        connection.execute(sql.SQL("grant loci_analyst to {} with inherit true, set false").format(role))
        connection.execute(sql.SQL("grant {} to loci_app with inherit true, set false").format(role))
        return _configure_login(connection, login, timeout)


PLACES: LiteralString = """
select p.cell_id, c.database_url, array_agg(p.name order by p.name)
from loci_data.agents a
join loci_data.grants g on g.agent_id = a.id and (g.expires_at is null or g.expires_at > clock_timestamp())
join loci_data.namespace_cells p on p.namespace_id = g.namespace_id
join loci_data.cells c on c.id = p.cell_id and c.database_url is not null
where a.database_role = %s::name group by p.cell_id, c.database_url order by p.cell_id"""


def list_places(url: str, *, login: str, origin: Origin) -> list[AnalystPlace]:
    """Cells in which an analyst may read; none where there are no cells. Raises NotFound for a login that is no analyst."""
    with _open_owner_transaction(url, origin) as connection:
        connection.execute("select loci_api.analyst_agent_id(%s::name)", [login])
        rows = connection.execute(PLACES, [login]).fetchall()
    return [{"cell": cell, "database_url": place, "namespaces": names} for cell, place, names in rows]


def drop_analyst(url: str, *, login: str, origin: Origin) -> None:
    """End an analyst's sessions and remove login, agent and grants. Raises NotFound for a login that is no analyst.

    Where that fails half way, the login is closed, and can be dropped again.
    """
    role = sql.Identifier(login)
    with _open_owner_transaction(
        url, origin
    ) as connection:  # of its own: until it is committed a client may come back, and would live on
        connection.execute("select loci_api.analyst_agent_id(%s::name)", [login])
        if _role_exists(connection, login):
            connection.execute(sql.SQL("alter role {} nologin").format(role))
    with _open_owner_transaction(url, origin) as connection:
        connection.execute("select loci_api.delete_analyst_agent(%s::name)", [login])
        if not _role_exists(connection, login):
            return
        found = connection.execute("select pg_has_role(%s, 'usage')", [login]).fetchone()
        if found is not None and not found[0]:
            connection.execute(sql.SQL("grant {} to current_user with inherit true, set true").format(role))
        connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [login])
        connection.execute(sql.SQL("drop owned by {}").format(role))
        connection.execute(sql.SQL("drop role {}").format(role))


def set_password(url: str, *, login: str, password: str, origin: Origin) -> None:
    """Give an analyst a new password. Raises NotFound for a login that is no analyst."""
    with _open_owner_transaction(url, origin) as connection:
        connection.execute("select loci_api.analyst_agent_id(%s::name)", [login])
        verifier = sql.Literal(_make_verifier(connection, login, password))
        connection.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(login), verifier))


async def list_analysts(tx: Transaction) -> list[AnalystRow]:
    """Analysts by login, with the namespaces that they may read now."""
    return await tx.rows(AnalystRow, "select * from loci_api.list_analysts()")


async def grant_analyst(tx: Transaction, *, login: str, expires_at: datetime | None) -> None:
    """Let an analyst read the transaction's namespace."""
    await tx.run("select loci_api.grant_analyst(%(namespace)s, %(login)s, %(expires_at)s)", login=login, expires_at=expires_at)


async def revoke_analyst(tx: Transaction, *, login: str) -> None:
    """Take an analyst's grant in the transaction's namespace away."""
    await tx.run("select loci_api.revoke_analyst(%(namespace)s, %(login)s)", login=login)


async def stop_analysts(tx: Transaction) -> list[StoppedSession]:
    """Cancel what analysts let run past their limits; the sessions, and whether they were ended."""
    return await tx.rows(StoppedSession, "select * from loci_api.stop_analysts()")


def _role_exists(connection: Connection, login: str) -> bool:
    return connection.execute("select from pg_roles where rolname = %s", [login]).fetchone() is not None


def _make_verifier(connection: Connection, login: str, password: str) -> str:
    return connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()


def _configure_login(connection: Connection, login: str, timeout: str) -> bool:
    """Hang settings on the login, in this database: those of its group, and limits; whether temporary files are limited too."""
    found = connection.execute("select current_database()").fetchone()
    place = (sql.Identifier(login), sql.Identifier(found[0] if found else ""))
    vector = connection.execute(
        "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"
    ).fetchone()
    if vector is not None:  # loads the extension, and with it the names of its settings
        connection.execute(sql.SQL("select '[1]'::{}").format(sql.Identifier(vector[0], "vector")))
    group = connection.execute(
        """select split_part(c, '=', 1), substr(c, strpos(c, '=') + 1)
           from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase and d.datname = current_database()
           cross join unnest(s.setconfig) c where s.setrole = 'loci_analyst'::regrole order by 1"""
    ).fetchall()
    for name, value in [*group, *SETTINGS.items(), ("statement_timeout", timeout)]:
        connection.execute("select set_config(%s, %s, true)", [name, value])
        setting = sql.SQL(cast("LiteralString", name))  # names come from the catalogue and from above
        connection.execute(sql.SQL("alter role {} in database {} set {} from current").format(*place, setting))
    try:
        with connection.transaction():
            connection.execute(
                sql.SQL("alter role {} in database {} set temp_file_limit = {}").format(*place, sql.Literal(TEMPORARY_FILES))
            )
    except pg.InsufficientPrivilege:  # a superuser's setting
        return False
    return True
