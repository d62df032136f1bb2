"""The database of a cell, as a superuser: what commands on cells are sent to."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

Record = dict[str, Any]  # of whatever is asked; those who hand one on give it a type
Scalar = Any
Session = psycopg.Connection[Record]
PAUSE = 0.02  # seconds between two questions to a database whether something has come
PATIENCE = 60.0  # seconds in which it must have come
# No limit of the database's own ends what takes long. A step that is lost by a crash, and not by the other cell, would leave a
# namespace in two, so that steps are durable.
SETTINGS: LiteralString = """
select set_config('statement_timeout', '0', false), set_config('idle_in_transaction_session_timeout', '0', false),
       case when current_setting('synchronous_commit') in ('off', 'local') then set_config('synchronous_commit', 'on', false) end"""


class CellError(Exception):
    """A command on cells cannot go on; `hint` says what to do about it. What was done stays, and repeating goes on from there."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Unreachable(CellError):
    """A cell's database does not answer."""


@contextmanager
def connect(url: str, of: str) -> Iterator[Session]:
    """A session of a cell's database, each statement by itself. Raises Unreachable, also where it ends on the way."""
    try:
        with psycopg.connect(url, autocommit=True, row_factory=dict_row, connect_timeout=10) as session:
            session.execute(SETTINGS)
            yield session
    except psycopg.OperationalError as error:
        if error.sqlstate is not None and not error.sqlstate.startswith(("08", "57P")):
            raise
        raise Unreachable(
            f"the database of {of} does not answer: {str(error).strip()}", "Repeat the command when it does."
        ) from None


def rows(session: Session, statement: LiteralString, *values: Any) -> list[Record]:
    """Rows that a statement returns."""
    return session.execute(statement, values).fetchall()


def value(session: Session, statement: LiteralString, *values: Any) -> Scalar:
    """The first column of the first row that a statement returns; None: there is none."""
    row = session.execute(statement, values).fetchone()
    return next(iter(row.values())) if row else None


def run(session: Session, statement: LiteralString, **parts: sql.Composable) -> None:
    """Run a statement about names: publications, subscriptions, slots."""
    session.execute(sql.SQL(statement).format(**parts))


def wait_until(question: Callable[[], object], failure: Callable[[], CellError], patience: float = PATIENCE) -> None:
    """Ask until the answer is yes. Raises what `failure` gives where it never is."""
    ends = time.monotonic() + patience
    while not question():
        if time.monotonic() > ends:
            raise failure()
        time.sleep(PAUSE)


def end_of_log(session: Session) -> str:
    """Where the log is, with all that is committed now before it and on disk."""
    value(session, "select pg_logical_emit_message(true, 'loci', '')::text")
    return str(value(session, "select pg_current_wal_flush_lsn()::text"))


def has_arrived(session: Session, link: str, position: str) -> bool:
    """Whether the subscriber of a link has applied the log up to there, as the publisher knows."""
    found = rows(
        session,
        "select (replay_lsn >= %s::pg_lsn) as there from pg_stat_replication where application_name = %s and state = 'streaming'",
        position,
        link,
    )
    return any(row["there"] for row in found)


def drop_link(session: Session, link: str) -> None:
    """Drop a subscription and its slot at the publisher, if it is there."""
    if value(session, "select 1 from pg_subscription where subname = %s", link) is not None:
        run(session, "alter subscription {link} disable", link=sql.Identifier(link))
        run(session, "drop subscription {link}", link=sql.Identifier(link))


def drop_slot(session: Session, link: str) -> None:
    """Drop a slot that no subscription has, if it is there: one of a command that was killed while it made the subscription."""
    held = rows(session, "select active_pid from pg_replication_slots where slot_name = %s", link)
    if held:
        if held[0]["active_pid"]:
            session.execute("select pg_terminate_backend(%s, 5000)", [held[0]["active_pid"]])
        session.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s", [link])
