"""Bringing a database to the newest revision, and knowing whether it is there.

Alembic, and SQLAlchemy below it, are imported by what migrates: a service that only asks whether a database is at the newest
revision starts without them, a fifth sooner.
"""

import re
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from psycopg import Connection, sql

if TYPE_CHECKING:
    from alembic.config import Config

REVISION = re.compile(r'^(revision|down_revision)(?:: [^=]+)? = (?:"(\w+)"|None)$', re.MULTILINE)


def _make_config(url: str | None = None) -> "Config":
    from alembic.config import Config

    with as_file(files("migrations")) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["url"] = url
    return config


class NewerSchema(Exception):
    """The database is at a revision that this version does not know: a later version has migrated it."""


def upgrade(url: str, *, app_password: str | None = None) -> None:
    """Upgrade to head and replay sql/, as the owner that `url` connects as; optionally set the password of loci_app.

    Raises NewerSchema where a later version was here before; nothing is changed then.
    """
    from alembic import command
    from alembic.script.revision import ResolutionError
    from alembic.util import CommandError

    from migrations.schema_files import STAY

    try:
        command.upgrade(_make_config(url), "head")
    except CommandError as error:
        if not isinstance(error.__cause__, ResolutionError):
            raise
        raise NewerSchema(
            f"the schema is at revision {error.__cause__.argument}, which this version does not know: a later version made it"
        ) from None
    if app_password is not None:
        with Connection.connect(url, autocommit=True) as connection:
            connection.execute(STAY)
            connection.execute(sql.SQL("alter role loci_app password {}").format(sql.Literal(app_password)))


def renew_feeds(url: str) -> int:
    """Refuse every cursor of the change feed that was given out, as the owner; the number of feeds.

    For a database that was set back: positions that readers have seen will be given out again, to other changes.
    """
    with Connection.connect(url) as connection:
        connection.execute("set role loci_owner")
        row = connection.execute("select loci_internal.renew_feeds()").fetchone()
    return row[0] if row else 0


@cache
def _list_revisions() -> dict[str, str | None]:
    """The revisions that this code knows, each with the one before it."""
    known: dict[str, str | None] = {}
    for file in files("migrations").joinpath("versions").iterdir():
        if file.name.endswith(".py"):
            stated = dict(REVISION.findall(file.read_text(encoding="utf-8")))
            known[stated["revision"]] = stated["down_revision"] or None
    return known


@cache
def newest_revision() -> str | None:
    """The newest revision that this code knows: the one that no other comes after."""
    before = set(_list_revisions().values())
    return next((name for name in _list_revisions() if name not in before), None)


@cache
def is_known(revision: str) -> bool:
    """Whether it is a revision of this version, or of one before."""
    return revision in _list_revisions()
