"""Sharing: who was given a role has it from the next statement on, and whose role ended has none."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

from tests.databases import Database
from tests.factories import OPERATOR, World, act_as, new_world
from tests.services import eventually

ROLES = ["reader", "writer", "admin"]


@dataclass(frozen=True)
class Shared:
    """A namespace with one memory, its admin's session, a session of another agent, and one of the superuser."""

    admin: World
    guest: World
    agent: UUID
    boss: UUID
    root: psycopg.Connection[Any]

    def give(self, role: str, expires_at: datetime | None = None) -> dict[str, Any]:
        return self.admin.row("select * from loci_api.set_grant(%(ns)s, %(a)s, %(r)s, %(e)s)", a=self.agent, r=role, e=expires_at)

    def expire(self) -> None:
        """The grant's end is now."""
        moved = "update loci_data.grants set expires_at = clock_timestamp() where agent_id = %s and expires_at is not null"
        assert self.root.execute(moved, [self.agent]).rowcount == 1

    def take(self, agent: UUID | None = None) -> dict[str, Any]:
        return self.admin.row("select * from loci_api.delete_grant(%(ns)s, %(a)s)", a=agent or self.agent)


def stay(connection: psycopg.Connection[Any], agent: UUID) -> None:
    """Act for an agent in every transaction of a session."""
    connection.execute("select set_config('loci.agent', %s, false)", [str(agent)])


@pytest.fixture
def shared(own_database: Database) -> Iterator[Shared]:
    def session() -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True)

    with session() as one, session() as two, own_database.admin() as root:
        with one.transaction():
            world = new_world(one)
            world.write("the vault is under the stairs")
            [boss, guest] = [
                world.value(
                    "select agent_id from loci_api.create_key(%(ns)s, %(r)s, 'k', %(id)s, sha256(%(id)s::text::bytea))",
                    r=role,
                    id=uuid4(),
                )
                for role in ("admin", "reader")
            ]
            world.row("select * from loci_api.delete_grant(%(ns)s, %(a)s)", a=guest)
        stay(one, boss)
        stay(two, guest)
        yield Shared(world, World(two, world.name, world.id), guest, boss, root)


def statements(world: World) -> list[list[Any]]:
    """What an agent sees of a namespace: through a table, a view, the list of namespaces, and a recall's scope over all."""
    return [
        world.rows("select id from loci_data.memories"),
        world.rows("select id from loci.current_memories"),
        world.rows("select name from loci.list_namespaces()"),
        world.rows("select namespace from loci_api.recall_namespaces(null) where searched"),
    ]


@pytest.mark.row("X2")
@pytest.mark.parametrize("role", ROLES)
def test_a_grant_is_in_force_at_the_next_statement_and_so_is_its_end(shared: Shared, role: str) -> None:
    with shared.guest.connection.transaction():  # one and the same transaction sees both
        assert statements(shared.guest) == [[], [], [], []]
        shared.give(role)
        assert [len(rows) for rows in statements(shared.guest)] == [1, 1, 1, 1]
        assert shared.guest.visible() == ["the vault is under the stairs"]
        shared.take()
        assert statements(shared.guest) == [[], [], [], []]
        with pytest.raises(errors.InsufficientPrivilege):
            shared.guest.visible()


def test_a_grant_expires_by_the_clock_of_the_database_within_a_transaction(shared: Shared) -> None:
    shared.give("reader")
    with shared.guest.connection.transaction():
        assert len(shared.guest.rows("select from loci_data.memories")) == 1
        shared.give("reader", shared.admin.now() + timedelta(days=1))
        assert len(shared.guest.rows("select from loci_data.memories")) == 1
        shared.expire()
        assert statements(shared.guest) == [[], [], [], []]
        with pytest.raises(errors.InsufficientPrivilege):
            shared.guest.visible()
    [row] = [row for row in shared.admin.rows("select * from loci_api.list_grants(%(ns)s)") if row["agent_id"] == shared.agent]
    assert row["expired"]


def test_an_expired_grant_can_be_renewed(shared: Shared) -> None:
    shared.give("reader", shared.admin.now() + timedelta(days=1))
    shared.expire()
    assert not shared.give("writer")["created"]
    assert shared.guest.write("a note")["content"] == "a note"


def test_a_writer_who_was_made_a_reader_writes_no_more(shared: Shared) -> None:
    shared.give("writer")
    shared.guest.write("a note")
    shared.give("reader")
    with pytest.raises(errors.InsufficientPrivilege, match="writer is needed"):
        shared.guest.write("another")
    assert len(shared.guest.visible()) == 2


@pytest.mark.row("X2")
@pytest.mark.parametrize("role", ["reader", "writer"])
@pytest.mark.parametrize(
    "statement",
    [
        "select * from loci_api.set_grant(%(ns)s, %(a)s, 'admin')",
        "select * from loci_api.delete_grant(%(ns)s, %(b)s)",
        "select * from loci_api.list_grants(%(ns)s)",
    ],
)
def test_only_admins_share(shared: Shared, role: str, statement: Any) -> None:
    shared.give(role)
    with pytest.raises(errors.InsufficientPrivilege):
        shared.guest.rows(statement, a=shared.agent, b=shared.boss)


def test_nobody_learns_by_a_grant_whether_a_namespace_exists(shared: Shared) -> None:
    for name in (shared.admin.name, "no-such-namespace"):
        with pytest.raises(errors.InsufficientPrivilege, match=f"no access to namespace '{name}'"):
            shared.guest.rows("select loci_api.set_grant(%(name)s, %(a)s, 'reader')", name=name, a=shared.agent)


@pytest.mark.parametrize(
    ("agent", "role", "expires_at", "field"),
    [
        (None, "reader", None, "agent_id"),
        ("operator", "reader", None, "agent_id"),
        ("guest", "owner", None, "role"),
        ("guest", None, None, "role"),
        ("guest", "reader", "2020-01-01", "expires_at"),
        ("guest", "reader", "infinity", "expires_at"),
        ("guest", "reader", "-infinity", "expires_at"),
    ],
)
def test_a_wrong_grant_is_refused_by_name(shared: Shared, agent: Any, role: Any, expires_at: Any, field: str) -> None:
    named = {"operator": OPERATOR, "guest": shared.agent}.get(agent)
    with pytest.raises((errors.NoDataFound, errors.InvalidParameterValue)) as caught:
        shared.admin.rows("select loci_api.set_grant(%(ns)s, %(a)s, %(r)s, %(e)s)", a=named, r=role, e=expires_at)
    assert caught.value.diag.column_name == field


def test_taking_a_grant_that_is_not_there_says_so(shared: Shared) -> None:
    with pytest.raises(errors.NoDataFound):
        shared.take()


def test_grants_come_in_pages(shared: Shared) -> None:
    shared.give("reader")
    first = shared.admin.row("select * from loci_api.list_grants(%(ns)s, 1)")
    second = shared.admin.row("select * from loci_api.list_grants(%(ns)s, 1, %(c)s)", c=first["agent_id"])
    assert [first["role"], second["role"]] == ["admin", "reader"]
    assert shared.admin.rows("select * from loci_api.list_grants(%(ns)s, 1, %(c)s)", c=second["agent_id"]) == []


# The last admin


def test_the_last_admin_can_neither_leave_nor_lower_itself(shared: Shared) -> None:
    shared.give("admin", shared.admin.now() + timedelta(hours=1))  # for a while is not for good
    for role, expires_at in (("writer", None), ("admin", shared.admin.now() + timedelta(days=1))):
        with pytest.raises(errors.UniqueViolation, match="last admin"):
            shared.admin.rows("select loci_api.set_grant(%(ns)s, %(a)s, %(r)s, %(e)s)", a=shared.boss, r=role, e=expires_at)
    with pytest.raises(errors.UniqueViolation, match="last admin"):
        shared.take(shared.boss)
    assert (
        shared.admin.row("select role from loci_api.list_grants(%(ns)s) where agent_id = %(a)s", a=shared.boss)["role"] == "admin"
    )


def test_an_admin_leaves_where_another_stays(shared: Shared) -> None:
    shared.give("admin")
    assert shared.take(shared.boss)["role"] == "admin"
    with pytest.raises(errors.InsufficientPrivilege):
        shared.admin.rows("select * from loci_api.list_grants(%(ns)s)")


def test_the_operator_may_take_the_last_admin_away(shared: Shared) -> None:
    with shared.admin.connection.transaction():
        act_as(shared.admin.connection, OPERATOR)
        shared.take(shared.boss)
        assert shared.admin.rows("select * from loci_api.list_grants(%(ns)s)") == []


def test_two_admins_who_remove_each_other_leave_one(shared: Shared) -> None:
    shared.give("admin")
    waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        with shared.admin.connection.transaction():
            shared.take()
            leaving = pool.submit(shared.guest.rows, "select * from loci_api.delete_grant(%(ns)s, %(a)s)", a=shared.boss)
            eventually(lambda: shared.root.execute(waiting).fetchall())
        with pytest.raises(errors.InsufficientPrivilege):  # it is none any more
            leaving.result()
    assert len(shared.admin.rows("select * from loci_api.list_grants(%(ns)s)")) == 1


# Who the caller is


def test_an_agent_learns_who_it_is_and_what_it_may_do(shared: Shared) -> None:
    until = shared.admin.now() + timedelta(hours=1)
    shared.give("writer", until)
    me = shared.guest.row("select * from loci_api.whoami()")
    assert (me["agent_id"], me["kind"], me["key_id"]) == (shared.agent, "key", None)
    assert [(g["namespace"], g["role"], datetime.fromisoformat(g["expires_at"])) for g in me["grants"]] == [
        (shared.admin.name, "writer", until)
    ]
    shared.take()
    assert shared.guest.row("select * from loci_api.whoami()")["grants"] == []


def test_nobody_is_nobody(connection: psycopg.Connection[Any]) -> None:
    act_as(connection, None)
    assert connection.execute("select * from loci_api.whoami()").fetchall() == []


def test_changes_of_grants_are_in_the_log(shared: Shared) -> None:
    shared.give("reader")
    shared.give("writer")
    shared.take()
    rows = shared.root.execute(
        "select action from loci_data.outbox where namespace_id = %s and kind = 'grant' and subject_id = %s order by id",
        [shared.admin.id, shared.agent],
    ).fetchall()
    assert [action for (action,) in rows][-3:] == ["created", "changed", "erased"]
