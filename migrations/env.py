"""Alembic environment: a transaction per revision, an advisory lock, time limits, then the replay of sql/."""

import os

from alembic import context
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from migrations.replay import replay

LOCK = 0x10C1  # any constant: two migrations of one database take turns on it


def database_url() -> str:
    """The URL given by the caller, else LOCI_MIGRATION_URL, else DATABASE_URL, in SQLAlchemy's spelling."""
    configured = context.config.attributes.get("url") or context.config.get_main_option("sqlalchemy.url")
    url = configured or os.environ.get("LOCI_MIGRATION_URL") or os.environ.get("DATABASE_URL")
    if not url:
        raise SystemExit("no database: set LOCI_MIGRATION_URL (or DATABASE_URL) or call `loci migrate`")
    return make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def run() -> None:
    """Upgrade or downgrade under the lock; replay sql/ when the database is at head."""
    engine = create_engine(database_url())
    with engine.connect() as connection:
        connection.execute(text("select pg_advisory_lock(:key)"), {"key": LOCK})
        connection.execute(text("set lock_timeout = '10s'"))
        connection.execute(text("set statement_timeout = '10min'"))
        connection.commit()
        context.configure(
            connection=connection,
            version_table_schema="public",
            version_table="loci_version",
            transaction_per_migration=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        head = context.script.get_current_head()
        current = context.get_context().get_current_revision()
        connection.rollback()
        if current == head:
            with connection.begin():
                connection.execute(text("set local role loci_owner"))
                replay(connection)
    engine.dispose()


run()
