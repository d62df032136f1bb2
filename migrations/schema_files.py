"""SQL files as revisions and the replay run them."""

from importlib.resources import files
from typing import TYPE_CHECKING, LiteralString

from procrastinate.schema import SchemaManager

if TYPE_CHECKING:
    from sqlalchemy import Connection

# What a session makes stays on its node. Citus would make roles, types and functions on every node of a cluster, and stops at
# functions over tables that only one node has. Without Citus it is a setting that nobody reads.
STAY: LiteralString = "set citus.enable_ddl_propagation = off"


def execute(connection: "Connection", text: str) -> None:
    """Run a whole file's statements in the current transaction; `%` in them means nothing."""
    connection.connection.cursor().execute(text)


def run(connection: "Connection", name: str) -> None:
    """Execute migrations/schema/<name>."""
    execute(connection, files("migrations").joinpath("schema", name).read_text(encoding="utf-8"))


def set_roles(connection: "Connection") -> None:
    """Give the roles what their sessions begin with in this database, where they have it not; take from all what nobody may."""
    for name in ("role_settings.sql", "public_rights.sql"):
        execute(connection, files("migrations").joinpath(name).read_text(encoding="utf-8"))


def run_queue(connection: "Connection") -> None:
    """Make the tables and functions of procrastinate in the schema loci_jobs, as the installed release has them.

    A later release's changes are a revision of their own: its files `sql/migrations` say which.
    """
    execute(connection, "set local search_path = loci_jobs")
    execute(connection, SchemaManager.get_schema())
    execute(connection, "set local search_path to default")


def in_order() -> list[str]:
    """Files of migrations/schema that the owner runs, in order of their numbers: all but the roles."""
    return sorted(file.name for file in files("migrations").joinpath("schema").iterdir() if file.name > "0001")
