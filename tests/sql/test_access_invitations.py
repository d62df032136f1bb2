"""Invitations: a grant from elsewhere gives nothing to anybody until the agent accepts it, and the agent may always leave."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import dict_row

from tests.blocking import started
from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, grant, new_world
from tests.services import PATIENCE

SET = "select * from loci_api.set_grant(%(ns)s, %(a)s, %(r)s, %(until)s)"


@dataclass(frozen=True)
class Meeting:
    """An agent at home, and the admin of another namespace, in sessions of their own; the superuser watches."""

    guest: World
    host: World
    agent: UUID
    boss: UUID
    watcher: psycopg.Connection[Any]

    def invite(self, role: str = "writer", agent: UUID | None = None, until: Any = None) -> Row:
        return self.host.row(SET, a=agent or self.agent, r=role, until=until)

    def withdraw(self, agent: UUID | None = None) -> Row:
        return self.host.row("select * from loci_api.delete_grant(%(ns)s, %(a)s)", a=agent or self.agent)

    def expire(self, table: LiteralString = "grants") -> None:
        """What was given with an end is over now."""
        moved = "update loci_data.{} set expires_at = clock_timestamp() where agent_id = %s and expires_at is not null"
        assert self.watcher.execute(sql.SQL(moved).format(sql.Identifier(table)), [self.agent]).rowcount == 1

    def accept(self) -> Row:
        return self.guest.row("select * from loci_api.accept_invitation(%(host)s)", host=self.host.name)

    def decline(self) -> None:
        self.guest.rows("select loci_api.decline_invitation(%(host)s)", host=self.host.name)

    def leave(self) -> None:
        self.guest.rows("select loci_api.leave_namespace(%(host)s)", host=self.host.name)

    def invited(self) -> list[tuple[str, str]]:
        rows = self.guest.rows("select * from loci_api.list_invitations()")
        return [(row["namespace"], row["role"]) for row in rows]

    def reached(self) -> list[str]:
        return sorted(row["name"] for row in self.guest.rows("select name from loci.list_namespaces()"))

    def listed(self) -> list[tuple[UUID, str | None, bool]]:
        rows = self.host.rows("select * from loci_api.list_grants(%(ns)s)")
        return [(row["agent_id"], row["agent"], row["accepted"]) for row in rows if row["agent_id"] != self.boss]

    def newest(self) -> UUID:
        """The newest operation of the inviting namespace."""
        return self.host.rows("select id from loci.list_operations(%(ns)s)")[0]["id"]

    def undo(self, id: UUID) -> Row:
        return self.host.row("select * from loci_api.undo_operation(%(ns)s, %(id)s)", id=id)


@pytest.fixture
def meeting(own_database: Database) -> Iterator[Meeting]:
    def session() -> psycopg.Connection[Row]:
        return psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True)

    with session() as one, session() as two, own_database.admin() as watcher:
        with one.transaction():
            home, host = new_world(one), new_world(one)
            made = "select agent_id from loci_api.create_key(%(ns)s, %(r)s, 'scout', %(id)s, sha256(%(id)s::text::bytea))"
            agent, boss = home.value(made, r="writer", id=uuid4()), host.value(made, r="admin", id=uuid4())
            host.write("the vault is under the stairs")
        for connection, acting in ((one, agent), (two, boss)):
            connection.execute("select set_config('loci.agent', %s, false)", [str(acting)])
        yield Meeting(World(one, home.name, home.id), World(two, host.name, host.id), agent, boss, watcher)


def refused(world: World, kind: type[psycopg.Error], work: Any) -> str:
    with pytest.raises(kind) as caught, world.connection.transaction():
        work()
    return caught.value.diag.message_primary or ""


# Until it is accepted


@pytest.mark.row("X8")
def test_an_invitation_gives_nothing_to_the_agent(meeting: Meeting) -> None:
    meeting.invite("admin")
    assert meeting.invited() == [(meeting.host.name, "admin")]
    assert meeting.reached() == [meeting.guest.name]
    assert meeting.guest.rows("select content from loci_data.memories") == []
    assert meeting.guest.rows("select namespace from loci_api.recall_namespaces(null) where searched") == [
        {"namespace": meeting.guest.name}
    ]
    there = World(meeting.guest.connection, meeting.host.name, meeting.host.id)
    for attempt in (there.visible, lambda: there.write("x"), lambda: there.rows("select * from loci_api.list_grants(%(ns)s)")):
        refused(there, errors.InsufficientPrivilege, attempt)


@pytest.mark.row("X8")
def test_an_invitation_says_nothing_of_the_agent_not_even_whether_there_is_one(meeting: Meeting) -> None:
    nobody = uuid4()
    told = [{**meeting.invite(agent=agent), "agent_id": None, "created_at": None} for agent in (meeting.agent, nobody)]
    assert told[0] == told[1]
    assert (told[0]["agent"], told[0]["kind"], told[0]["accepted"], told[0]["created"]) == (None, None, False, True)
    assert sorted(meeting.listed()) == sorted([(meeting.agent, None, False), (nobody, None, False)])
    assert meeting.host.rows("select * from loci_api.list_keys(%(ns)s) where agent_id <> %(boss)s", boss=meeting.boss) == []
    assert [{**meeting.withdraw(agent), "agent_id": None, "created_at": None} for agent in (meeting.agent, nobody)] == [
        {name: told[0][name] for name in told[0] if name != "created"}
    ] * 2


def test_an_invitation_is_changed_and_withdrawn(meeting: Meeting) -> None:
    meeting.invite("reader")
    assert not meeting.invite("writer")["created"]
    assert meeting.invited() == [(meeting.host.name, "writer")]
    assert not meeting.withdraw()["accepted"]
    assert meeting.invited() == []
    refused(meeting.guest, errors.NoDataFound, meeting.accept)


def test_each_of_two_pages_of_grants_holds_its_part_of_both_kinds(meeting: Meeting) -> None:
    for _ in range(3):
        meeting.invite(agent=uuid4())
    seen, cursor = list[UUID](), None
    while rows := meeting.host.rows("select agent_id from loci_api.list_grants(%(ns)s, 2, %(c)s)", c=cursor):
        seen += [row["agent_id"] for row in rows]
        cursor = seen[-1]
    assert seen == sorted(set(seen))
    assert len(seen) == 4


# Its answer


def test_an_accepted_invitation_is_a_grant(meeting: Meeting) -> None:
    meeting.invite("writer")
    assert (meeting.accept(), meeting.accept()) == ({"namespace": meeting.host.name, "role": "writer", "expires_at": None},) * 2
    assert meeting.reached() == sorted([meeting.guest.name, meeting.host.name])
    assert meeting.listed() == [(meeting.agent, "scout", True)]
    assert meeting.invited() == []


def test_a_declined_invitation_is_gone(meeting: Meeting) -> None:
    meeting.invite()
    meeting.decline()
    assert (meeting.invited(), meeting.listed(), meeting.reached()) == ([], [], [meeting.guest.name])
    refused(meeting.guest, errors.NoDataFound, meeting.accept)
    refused(meeting.guest, errors.NoDataFound, meeting.decline)


def test_an_agent_leaves_and_comes_back_only_by_itself(meeting: Meeting) -> None:
    meeting.invite()
    meeting.accept()
    meeting.leave()
    assert (meeting.reached(), meeting.listed()) == ([meeting.guest.name], [])
    meeting.invite()
    assert meeting.reached() == [meeting.guest.name]
    refused(meeting.guest, errors.NoDataFound, meeting.leave)


def test_a_guest_leaves_also_as_the_last_admin_and_at_home_the_last_admin_stays(meeting: Meeting) -> None:
    meeting.invite("admin")
    meeting.accept()
    meeting.host.rows("select loci_api.leave_namespace(%(ns)s)")
    meeting.leave()
    refused(meeting.host, errors.InsufficientPrivilege, lambda: meeting.host.rows("select * from loci_api.list_grants(%(ns)s)"))
    act = "update loci_data.grants set role = 'admin' where agent_id = %s"
    meeting.watcher.execute(act, [meeting.agent])
    home = "select loci_api.leave_namespace(%(ns)s)"
    assert "last admin" in refused(meeting.guest, errors.UniqueViolation, lambda: meeting.guest.rows(home))


def test_an_invitation_that_expired_is_void(meeting: Meeting) -> None:
    meeting.invite(until=meeting.host.now() + timedelta(days=1))
    assert len(meeting.invited()) == 1
    meeting.expire("invitations")
    assert meeting.invited() == []
    refused(meeting.guest, errors.NoDataFound, meeting.accept)
    assert meeting.reached() == [meeting.guest.name]


def test_an_accepted_invitation_ends_when_it_was_said_to(meeting: Meeting) -> None:
    until = meeting.host.now() + timedelta(days=1)
    meeting.invite(until=until)
    assert meeting.accept()["expires_at"] == until
    meeting.expire()
    assert meeting.reached() == [meeting.guest.name]


def test_an_accepted_grant_may_be_raised_and_lengthened_but_not_once_it_is_over(meeting: Meeting) -> None:
    """What was accepted is the namespace: more rights there, from those who could read all the agent writes there, harm nobody."""
    meeting.invite("reader", until=meeting.host.now() + timedelta(hours=1))
    meeting.accept()
    assert meeting.invite("admin", until=meeting.host.now() + timedelta(days=1))["accepted"]
    assert meeting.reached() == sorted([meeting.guest.name, meeting.host.name])
    meeting.expire()
    assert not meeting.invite("admin")["accepted"]
    assert meeting.reached() == [meeting.guest.name]


@pytest.mark.parametrize("setting", ["loci.scope", "loci.scope_namespaces"])
@pytest.mark.parametrize("answer", ["accept", "decline", "leave"])
def test_a_key_that_does_less_than_its_agent_answers_nothing_for_it(meeting: Meeting, setting: str, answer: str) -> None:
    meeting.invite()
    if answer == "leave":
        meeting.accept()
    value = "write" if setting == "loci.scope" else f"{{{meeting.guest.id}}}"
    meeting.guest.connection.execute("select set_config(%s, %s, false)", [setting, value])
    with pytest.raises((errors.InsufficientPrivilege, errors.NoDataFound)):
        getattr(meeting, answer)()
    assert meeting.invited() == ([(meeting.host.name, "writer")] if setting == "loci.scope" and answer != "leave" else [])


@pytest.mark.parametrize("call", ["accept_invitation", "decline_invitation", "leave_namespace"])
def test_an_answer_tells_nobody_whether_a_namespace_exists(meeting: Meeting, call: str) -> None:
    said = set()
    for name in (meeting.host.name, "no-such-namespace"):
        statement: Any = f"select loci_api.{call}(%(name)s)"
        said.add(refused(meeting.guest, errors.NoDataFound, lambda: meeting.guest.rows(statement, name=name)).replace(name, "NAME"))  # noqa: B023
    assert len(said) == 1


@pytest.mark.parametrize("call", ["list_invitations(%(a)s)", "accept_invitation(%(ns)s, %(a)s)", "leave_namespace(%(ns)s, %(a)s)"])
def test_nobody_answers_for_another_but_the_operator(meeting: Meeting, call: str) -> None:
    meeting.invite()
    statement: Any = f"select * from loci_api.{call}"
    refused(meeting.host, errors.InsufficientPrivilege, lambda: meeting.host.rows(statement, a=meeting.agent))
    with meeting.host.connection.transaction():
        act_as(meeting.host.connection, OPERATOR)
        if call.startswith("leave"):
            meeting.host.rows("select loci_api.accept_invitation(%(ns)s, %(a)s)", a=meeting.agent)
        assert len(meeting.host.rows(statement, a=meeting.agent)) == 1


# Who needs no answer


def test_the_home_and_the_operator_give_without_asking_the_agent(meeting: Meeting) -> None:
    with meeting.host.connection.transaction():
        act_as(meeting.host.connection, OPERATOR)
        assert meeting.invite()["accepted"]
        with pytest.raises(errors.NoDataFound), meeting.host.connection.transaction():
            meeting.invite(agent=uuid4())
        meeting.withdraw()
        # The same admin for both namespaces: it could make a key of the agent, and accept.
        for name in (meeting.guest.name, meeting.host.name):
            meeting.host.rows("select * from loci_api.set_grant(%(n)s, %(a)s, 'admin')", n=name, a=meeting.boss)
    assert meeting.invite()["accepted"]
    own = meeting.host.row("select * from loci_api.set_grant(%(home)s, %(a)s, 'reader')", home=meeting.guest.name, a=meeting.agent)
    assert (own["agent"], own["accepted"]) == ("scout", True)


def test_an_analyst_belongs_to_the_operator(meeting: Meeting) -> None:
    analyst = uuid4()
    insert = "insert into loci_data.agents (id, name, kind, database_role) values (%s, %s, 'analyst', %s)"
    meeting.watcher.execute(insert, [analyst, f"ada-{analyst}", f"ada-{analyst}"])
    assert not meeting.invite("reader", agent=analyst)["accepted"]
    letting_in: Any = "select loci_api.grant_analyst(%(ns)s, %(login)s)"
    refused(meeting.host, errors.InsufficientPrivilege, lambda: meeting.host.rows(letting_in, login=f"ada-{analyst}"))
    taking: Any = "select loci_api.revoke_analyst(%(ns)s, %(login)s)"
    said = {
        refused(meeting.host, errors.NoDataFound, lambda: meeting.host.rows(taking, login=login)).replace(login, "LOGIN")  # noqa: B023
        for login in (f"ada-{analyst}", "nobody")
    }
    assert len(said) == 1


# Undo


@pytest.mark.row("X8")
def test_undoing_brings_no_guest_back_that_left_or_declined(meeting: Meeting) -> None:
    meeting.invite()
    meeting.accept()
    meeting.leave()
    meeting.undo(meeting.newest())
    assert (meeting.reached(), meeting.invited()) == ([meeting.guest.name], [(meeting.host.name, "writer")])
    meeting.decline()
    assert "invitation" in refused(meeting.host, errors.UniqueViolation, lambda: meeting.undo(meeting.newest()))


@pytest.mark.parametrize("who", ["admin", "operator"])
def test_undo_restores_only_grants_that_its_caller_could_give(meeting: Meeting, who: str) -> None:
    meeting.invite()
    meeting.accept()
    meeting.withdraw()
    with meeting.host.connection.transaction():
        act_as(meeting.host.connection, OPERATOR if who == "operator" else meeting.boss)
        meeting.undo(meeting.newest())
    assert (meeting.host.name in meeting.reached(), meeting.invited() == []) == ((who == "operator"),) * 2


def test_nobody_but_the_agent_undoes_that_it_left(meeting: Meeting) -> None:
    meeting.invite()
    meeting.accept()
    meeting.leave()
    with meeting.host.connection.transaction():
        act_as(meeting.host.connection, OPERATOR)
        meeting.undo(meeting.newest())
    assert (meeting.reached(), meeting.invited()) == ([meeting.guest.name], [(meeting.host.name, "writer")])


def test_undoing_an_acceptance_takes_the_grant_and_undoing_that_gives_it_not(meeting: Meeting) -> None:
    meeting.invite()
    meeting.accept()
    undone = meeting.undo(meeting.newest())
    assert meeting.reached() == [meeting.guest.name]
    meeting.undo(undone["operation_id"])
    assert (meeting.reached(), meeting.invited()) == ([meeting.guest.name], [(meeting.host.name, "writer")])


def test_an_older_change_of_a_grant_is_not_undone_while_the_agent_leaves(meeting: Meeting) -> None:
    meeting.invite("reader")
    meeting.accept()
    meeting.invite("writer")
    raised = meeting.newest()
    with ThreadPoolExecutor(1) as pool:
        with meeting.guest.connection.transaction():
            meeting.leave()
            undoing = started(pool, meeting.watcher, meeting.host.connection, lambda: meeting.undo(raised))
        with pytest.raises(errors.UniqueViolation, match="was changed since"):
            undoing.result(PATIENCE)
    assert (meeting.reached(), meeting.invited()) == ([meeting.guest.name], [])


# At once


@pytest.mark.row("X8")
@pytest.mark.parametrize("second", ["accept", "decline"])
def test_the_first_of_a_withdrawal_and_an_answer_counts(meeting: Meeting, second: str) -> None:
    meeting.invite()
    with ThreadPoolExecutor(1) as pool:
        with meeting.host.connection.transaction():
            meeting.withdraw()
            answering = started(pool, meeting.watcher, meeting.guest.connection, getattr(meeting, second))
        with pytest.raises(errors.NoDataFound):
            answering.result(PATIENCE)
    assert (meeting.reached(), meeting.listed()) == ([meeting.guest.name], [])


def test_a_withdrawal_ends_a_grant_that_was_accepted_meanwhile(meeting: Meeting) -> None:
    meeting.invite()
    with ThreadPoolExecutor(1) as pool:
        with meeting.guest.connection.transaction():
            meeting.accept()
            withdrawing = started(pool, meeting.watcher, meeting.host.connection, meeting.withdraw)
        assert withdrawing.result(PATIENCE)["accepted"]
    assert (meeting.reached(), meeting.listed()) == ([meeting.guest.name], [])


def test_an_acceptance_wins_over_a_concurrent_decline(meeting: Meeting, own_database: Database) -> None:
    meeting.invite()
    with psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        other.execute("select set_config('loci.agent', %s, false)", [str(meeting.agent)])
        with meeting.guest.connection.transaction():
            meeting.accept()
            decline: Any = "select loci_api.decline_invitation(%s)"
            declining = started(pool, meeting.watcher, other, lambda: other.execute(decline, [meeting.host.name]))
        with pytest.raises(errors.NoDataFound):
            declining.result(PATIENCE)
    assert meeting.listed() == [(meeting.agent, "scout", True)]


def test_an_agent_that_is_gone_is_invited_and_never_comes(own_database: Database) -> None:
    with own_database.admin() as admin, psycopg.connect(own_database.app_url, row_factory=dict_row) as app:
        world = new_world(app)
        app.commit()
        boss, gone = grant(admin, world.name, "admin"), grant(admin, world.name, "reader")
        admin.execute("delete from loci_data.agents where id = %s", [gone])
        act_as(app, boss)
        assert not world.row(SET, a=gone, r="reader", until=None)["accepted"]
        act_as(app, OPERATOR)
        with pytest.raises(errors.NoDataFound):
            world.rows("select * from loci_api.accept_invitation(%(ns)s, %(a)s)", a=gone)
