"""Alembic environment: a transaction per revision, one migration at a time, time limits, then the replay of sql/."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from alembic import context
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError, ProgrammingError

from migrations.replay import note_digest, replay, until_free
from migrations.schema_files import STAY, set_roles

# As alembic makes it, so that there is something to lock before the first revision.
VERSIONS = "create table public.loci_version (version_num varchar(32) not null constraint loci_version_pkc primary key)"


def database_url() -> str:
    """The URL given by the caller, else LOCI_MIGRATION_URL, else DATABASE_URL, in SQLAlchemy's spelling."""
    configured = context.config.attributes.get("url") or context.config.get_main_option("sqlalchemy.url")
    url = configured or os.environ.get("LOCI_MIGRATION_URL") or os.environ.get("DATABASE_URL")
    if not url:
        raise SystemExit("no database: set LOCI_MIGRATION_URL (or DATABASE_URL) or call `loci migrate`")
    return make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


@contextmanager
def alone(engine: Engine) -> Iterator[None]:
    """Wait until no other migration of the database runs, and let none begin.

    The lock is on a table that is to be written, in a session of its own: an advisory lock could be held by any login.
    """
    with engine.connect() as connection:
        if connection.execute(text("select to_regclass('public.loci_version')")).scalar() is None:
            try:
                connection.execute(text(VERSIONS))
                connection.commit()
            except (IntegrityError, ProgrammingError):  # another has made it at this moment
                connection.rollback()
        connection.execute(text("set idle_in_transaction_session_timeout = 0"))
        connection.execute(text("lock table public.loci_version in share update exclusive mode"))
        yield
        connection.rollback()


def refuse_worker(connection: Connection) -> None:
    """Stop on a worker of a Citus cluster: what is made there by itself is known to no other node."""
    known = connection.execute(text("select to_regclass('pg_catalog.pg_dist_local_group')")).scalar()
    if known is not None and connection.execute(text("select groupid from pg_catalog.pg_dist_local_group")).scalar():
        raise SystemExit("this database is a worker of a Citus cluster: LOCI_MIGRATION_URL must lead to its coordinator")


@until_free
def run_revisions(connection: Connection) -> None:
    """Run each revision that is missing; go on with the one whose tables were in use, while callers are served."""
    connection.rollback()
    with context.begin_transaction():
        context.run_migrations()


def run() -> None:
    """Upgrade or downgrade, one at a time; replay sql/ when the database is at head."""
    engine = create_engine(database_url())
    with engine.connect() as connection:
        refuse_worker(connection)
    with alone(engine), engine.connect() as connection:
        connection.execute(text("set lock_timeout = '10s'"))
        connection.execute(text("set statement_timeout = '10min'"))
        connection.execute(text(STAY))
        connection.commit()
        context.configure(
            connection=connection,
            version_table_schema="public",
            version_table="loci_version",
            transaction_per_migration=True,
        )
        run_revisions(connection)
        head = context.script.get_current_head()
        current = context.get_context().get_current_revision()
        connection.rollback()
        if current == head:
            with connection.begin():  # by itself: roles are all databases', and are locked until its end
                set_roles(connection)
            with connection.begin():
                note_digest(connection)
                connection.execute(text("set local role loci_owner"))
                replay(connection)
    engine.dispose()


run()
