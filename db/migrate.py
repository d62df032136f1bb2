"""Bringing a database to the newest revision, and knowing whether it is there."""

from functools import cache
from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import Connection, sql


def _config(url: str | None = None) -> Config:
    with as_file(files("migrations")) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["url"] = url
    return config


def upgrade(url: str, *, app_password: str | None = None) -> None:
    """Upgrade to head and replay sql/, as the owner that `url` connects as; optionally set the password of loci_app."""
    command.upgrade(_config(url), "head")
    if app_password is not None:
        with Connection.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("alter role loci_app password {}").format(sql.Literal(app_password)))


@cache
def head() -> str | None:
    """The newest revision that this code knows. Reading the scripts takes milliseconds, and a probe asks often."""
    return ScriptDirectory.from_config(_config()).get_current_head()
