"""Worlds to test in: a namespace and short ways to write to it and to look at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from tests.databases import Database

Row = dict[str, Any]
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
OPERATOR = UUID(int=0)
# So many rows at once, and the session plans anew: what it planned while tables were empty, above all the checks of foreign
# keys, takes any index that begins with the namespace, and reads all memories there for each row.
MANY = 500


def day(number: float) -> datetime:
    """A moment, counted in days from the first of January 2020."""
    return EPOCH + timedelta(days=number)


def stated(fields: Row) -> Row:
    """JSON-ready copy of an item's fields."""
    return {k: v.isoformat() if isinstance(v, datetime) else str(v) if isinstance(v, UUID) else v for k, v in fields.items()}


def act_as(connection: psycopg.Connection[Any], agent: UUID | None) -> None:
    """Name the agent for the rest of the transaction, as the service does after authenticating."""
    connection.execute("select set_config('loci.agent', %s, true)", [str(agent) if agent else ""])


def grant(admin: psycopg.Connection[Any], namespace: str, role: str, *, expires_at: datetime | None = None) -> UUID:
    """Make an agent with a role in a namespace, past the service. Needs the migrating role."""
    agent = uuid4()
    admin.execute("insert into loci_data.agents (id, name, kind) values (%s, 'test', 'key')", [agent])
    admin.execute(
        "insert into loci_data.grants (namespace_id, agent_id, role, expires_at) select id, %s, %s, %s from loci_data.namespaces where name = %s",
        [agent, role, expires_at, namespace],
    )
    return agent


@dataclass(frozen=True)
class World:
    """A namespace inside a transaction of loci_app."""

    connection: psycopg.Connection[Row]
    name: str
    id: int

    def rows(self, statement: LiteralString, **parameters: Any) -> list[Row]:
        """All rows of a statement; %(ns)s is the namespace's name, %(ns_id)s its number."""
        return self.connection.execute(statement, {"ns": self.name, "ns_id": self.id, **parameters}).fetchall()

    def as_owner(self, statement: LiteralString, **parameters: Any) -> list[Row]:
        """All rows of a statement that nobody but the owner may run. For worlds of the fixture `owned`."""
        self.connection.execute("reset session authorization")
        found = self.rows(statement, **parameters)
        self.connection.execute("set session authorization loci_app")
        return found

    def row(self, statement: LiteralString, **parameters: Any) -> Row:
        """The only row of a statement."""
        (row,) = self.rows(statement, **parameters)
        return row

    def value(self, statement: LiteralString, **parameters: Any) -> Any:
        """The only value of a statement."""
        (value,) = self.row(statement, **parameters).values()
        return value

    def remember(self, *items: Row) -> list[Row]:
        """Write items in one call; one outcome (ordinal, id, superseded, duplicate, ignored, cut_short) each."""
        if len(items) >= MANY:
            self.connection.execute("discard plans")
        return self.rows("select * from loci_api.remember(%(ns)s, %(items)s)", items=Jsonb([stated(item) for item in items]))

    def write(self, content: str, **fields: Any) -> Row:
        """Write one memory; its row, with what became of the write."""
        outcome = self.remember({"content": content, **fields})[0]
        return {**self.get(outcome["id"]), **{name: value for name, value in outcome.items() if name != "ordinal"}}

    def get(self, id: UUID) -> Row:
        """One memory, whatever its version or status."""
        return self.row("select * from loci.get_memories(%(ns)s, %(ids)s)", ids=[id])

    def change(self, id: UUID, **changes: Any) -> Row:
        """Change what is said about a memory."""
        return self.row("select * from loci_api.update_memory(%(ns)s, %(id)s, %(changes)s)", id=id, changes=Jsonb(stated(changes)))

    def forget(self, id: UUID, forget: bool = True) -> Row:
        """Forget a memory, or restore it."""
        return self.row("select * from loci_api.forget_memory(%(ns)s, %(id)s, %(forget)s)", id=id, forget=forget)

    def erase(self, *ids: UUID, versions: str = "all", subtree: bool = False) -> Row:
        """Erase memories; the receipt."""
        return self.row(
            "select * from loci_api.erase_memories(%(ns)s, %(ids)s, %(versions)s, %(subtree)s)",
            ids=list(ids),
            versions=versions,
            subtree=subtree,
        )

    def visible(self, as_of: datetime | None = None, known_at: datetime | None = None, **filters: Any) -> list[str]:
        """Contents of what is visible at two moments, oldest row first."""
        rows = self.rows(
            "select content from loci.list_memories(%(ns)s, %(filters)s, 1000, null, %(as_of)s, %(known_at)s) order by cursor",
            filters=Jsonb(stated(filters)),
            as_of=as_of,
            known_at=known_at,
        )
        return [row["content"] for row in rows]

    def history(self, ref: str) -> list[Row]:
        """Versions of a lineage, oldest first."""
        return self.rows("select * from loci.history(%(ns)s, %(ref)s)", ref=ref)

    def now(self) -> datetime:
        """The database's clock."""
        return self.value("select clock_timestamp()")


def new_world(connection: psycopg.Connection[Row], language: str = "english") -> World:
    """Make a namespace as the operator and stay in it."""
    act_as(connection, OPERATOR)
    name = f"world-{uuid4().hex[:12]}"
    row = connection.execute("select loci_api.create_namespace(%s, null, %s) as id", [name, language]).fetchone()
    assert row is not None
    return World(connection, name, row["id"])


@contextmanager
def rolled_back(database: Database, world: World) -> Iterator[World]:
    """A namespace that stays, in a transaction that is rolled back, as the operator; the session can turn into the superuser's."""
    with database.admin_sessions.borrowed() as session:
        session.execute("set session authorization loci_app")
        act_as(session, OPERATOR)
        yield World(session, world.name, world.id)
