"""Somebody with a login of their own who holds and sends whatever a login can: nobody else is held up, and it ends."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from db.access.analysts import create_analyst, drop_analyst
from db.pool import Origin
from service.access.analysts import uri_of
from service.worker.process_priority import Priorities, lower_priority
from tests.factories import OPERATOR
from tests.services import Api, Service, eventually, new_api, ok

LOCKS = ["loci_data.changes", "loci_data.sweep_operations", "loci.worker", "loci.changes", "loci.hierarchy", "loci_data.postings"]
MODES = ["access share", "row share", "row exclusive", "share", "access exclusive"]  # one of each right that a lock may need
RUBBISH = ["", "no json", '{"namespaces":[1e400]}', '{"namespaces":null}', '{"type":"abort_job_requested","job_id":1}', "x" * 7999]
Session = psycopg.Connection[Any]


class Stranger:
    """A login that reads a namespace of its own, and its sessions."""

    def __init__(self, service: Service, namespace: str, timeout: str, stack: ExitStack) -> None:
        self.database, self.stack = service.database, stack
        self.login = f"stranger-{uuid4().hex[:8]}"
        create_analyst(
            self.database.admin_url,
            login=self.login,
            password="x" * 32,
            namespaces=[namespace],
            expires_at=None,
            timeout=timeout,
            origin=Origin("test", "sql"),
        )
        stack.callback(lambda: drop_analyst(self.database.admin_url, login=self.login, origin=Origin("test", "sql")))

    def session(self, *, autocommit: bool = True) -> Session:
        """Another session, without the limits that it may set itself."""
        session = psycopg.connect(uri_of(self.database.app_url, self.login), password="x" * 32, autocommit=True)
        self.stack.callback(session.close)
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"):
            session.execute(sql.SQL("set {} = 0").format(sql.Identifier(name)))
        session.execute("set default_transaction_read_only = off")
        session.autocommit = autocommit
        return session


def relations(session: Session) -> list[sql.Identifier]:
    """Every table and view of Loci."""
    rows = session.execute(
        """select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname in ('loci', 'loci_data', 'loci_jobs', 'public') and c.relkind in ('r', 'p', 'v') order by 1, 2"""
    ).fetchall()
    return [sql.Identifier(*row) for row in rows]


def attempt(session: Session, statement: sql.Composable, *parameters: Any) -> bool:
    """Try something inside a transaction that stays open; whether it was allowed."""
    with suppress(psycopg.Error), session.transaction():
        session.execute(statement, parameters)
        return True
    return False


@pytest.fixture
def strangers(
    start_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[Api, Stranger]]]:
    for pause in ("STOP_EVERY", "STOP_SELDOM"):  # between looks for sessions that idle or that others wait for
        monkeypatch.setattr(f"service.worker.worker.{pause}", 0.2)
    with ExitStack() as stack:

        def made(timeout: str = "1h") -> tuple[Api, Stranger]:
            api = stack.enter_context(new_api(start_service(pool_size=3)))
            theirs = stack.enter_context(new_api(api.service))
            return api, Stranger(api.service, theirs.namespace, timeout, stack)

        yield made


@pytest.mark.row("X9")
def test_locks_and_notices_of_a_stranger_hold_up_nobody(strangers: Callable[..., tuple[Api, Stranger]]) -> None:
    api, stranger = strangers()
    kept = api.write("what is remembered", entities=[{"name": "Alice"}])
    holding = stranger.session(autocommit=False)
    for relation in relations(holding):
        for mode in MODES:
            allowed = attempt(holding, sql.SQL("lock table {} in {} mode").format(relation, sql.SQL(mode)))  # type: ignore[arg-type]
            assert not allowed or mode == "access share"
        for strength in ("update", "key share"):  # the strongest and the weakest
            statement = sql.SQL("select * from {} for {}").format(relation, sql.SQL(strength))  # type: ignore[arg-type]
            assert not attempt(holding, statement) or relation.as_string() == '"public"."loci_version"'
    for name in LOCKS:
        for number in (0, 1, 2, 3):
            attempt(holding, sql.SQL("select pg_advisory_lock(hashtextextended(%s, %s))"), name, number)
    reading = stranger.session(autocommit=False)
    reading.execute("set transaction isolation level serializable")
    for number, relation in enumerate(relations(reading)):
        attempt(reading, sql.SQL("declare {} cursor with hold for select * from {}").format(sql.Identifier(f"c{number}"), relation))
        attempt(reading, sql.SQL("create temporary table {} as select * from {}").format(sql.Identifier(f"t{number}"), relation))
    sending = stranger.session()
    channels = ["loci_changes", "loci_jobs", "procrastinate_any_queue_v1", "procrastinate_queue_v1#loci"]
    with api.client.stream("GET", "/events", params={"after": "latest", "kind": "memory"}) as events:
        blocks = events.iter_text()
        assert "id: " in next(blocks)
        for channel in channels:
            sending.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
            for payload in [*RUBBISH, *(f"flood {number}" for number in range(50))]:
                sending.execute("select pg_notify(%s, %s)", [channel, payload])
        for number in range(12):
            api.write(f"fact {number}")
            assert ok(api.get("/changes", after="latest"))["items"] == []
            assert ok(api.post("/recall", {"query": "remembered"}))["results"]
        heard = ""
        while "fact 11" not in heard:
            heard += next(blocks)
    assert api.client.delete(f"/memories/{kept['id']}", params={"erase": True}).status_code == 200
    assert ok(api.client.get("http://loci/readyz"))["status"] == "ready"


def test_advisory_locks_and_large_objects_are_not_for_logins(strangers: Callable[..., tuple[Api, Stranger]]) -> None:
    session = strangers()[1].session()
    for statement in (
        "select pg_advisory_lock(1)",
        "select pg_try_advisory_lock(1, 2)",
        "select pg_advisory_xact_lock_shared(1)",
        "select lo_create(0)",
        "select lo_from_bytea(0, 'x')",
        "select lo_put(1, 0, 'x')",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute(statement)  # type: ignore[arg-type]


@pytest.mark.row("X9")
@pytest.mark.parametrize("how", ["idle", "idle in a transaction"])
def test_a_session_that_idles_ends_whatever_it_has_set(strangers: Callable[..., tuple[Api, Stranger]], how: str) -> None:
    _, stranger = strangers("100ms" if how == "idle" else "1s")  # idle alone, twenty times that
    session = stranger.session(autocommit=how == "idle")
    session.execute("select 1")
    with stranger.database.admin() as admin:
        pid = session.info.backend_pid
        eventually(lambda: admin.execute("select from pg_stat_activity where pid = %s", [pid]).rowcount == 0)


def test_a_session_that_others_wait_for_is_ended(strangers: Callable[..., tuple[Api, Stranger]]) -> None:
    _, stranger = strangers()
    session = stranger.session(autocommit=False)
    session.execute("select * from loci.current_memories")
    with stranger.database.admin() as admin, psycopg.connect(stranger.database.app_url, autocommit=True) as service:
        service.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        admin.pgconn.send_query(b"begin; lock table loci_data.memories in access exclusive mode; rollback")
        stop = "select pid, reason from loci_api.stop_analysts('0 seconds')"  # the worker waits longer
        eventually(lambda: service.execute(stop).fetchall() == [(session.info.backend_pid, "others wait for it")])
        while admin.pgconn.get_result() is not None:
            pass


def group_of(pid: int) -> str:
    """The niceness of the group that the scheduler counts a process in, where it has groups of sessions."""
    group = Path(f"/proc/{pid}/autogroup")
    return group.read_text().split()[-1] if group.exists() else ""


@pytest.mark.row("X9")
def test_sessions_of_analysts_stand_back_behind_those_of_the_service(strangers: Callable[..., tuple[Api, Stranger]]) -> None:
    api, stranger = strangers()
    session = stranger.session()
    pid = session.info.backend_pid
    eventually(lambda: os.sched_getscheduler(pid) == os.SCHED_IDLE and group_of(pid) in {"", "19"})
    session.execute("set max_parallel_workers_per_gather = 1")
    session.execute("set debug_parallel_query = on")  # another process works for it then
    session.pgconn.send_query(b"select pg_sleep(600)")
    with stranger.database.admin() as admin:
        helpers = "select pid from pg_stat_activity where leader_pid = %s and pid <> leader_pid"
        eventually(lambda: admin.execute(helpers, [pid]).rowcount == 1)
        (helper,) = admin.execute(helpers, [pid]).fetchone() or (0,)
        eventually(lambda: os.sched_getscheduler(helper) == os.SCHED_IDLE and group_of(helper) in {"", "19"})
        assert ok(api.post("/recall", {"query": "nothing"}))["results"] == []
        here = "select pid from pg_stat_activity where usename = 'loci_app' and datname = current_database()"
        others = [each for (each,) in admin.execute(here)]
    session.cancel()
    assert {os.sched_getscheduler(each) for each in others} == {os.sched_getscheduler(0)}
    assert "19" not in {group_of(each) for each in others}


def test_a_session_is_found_though_it_or_its_helper_was_looked_at_before_its_login_was_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(subprocess.Popen(["sleep", "600"])) for _ in range(3)]
        for process in processes:
            stack.callback(process.kill)
        ours, session, helper = (process.pid for process in processes)
        titles = {
            ours: "postgres: loci_app loci idle",
            helper: f"postgres: parallel worker for PID {session} ",
            session: "postgres: ",
        }
        monkeypatch.setattr("service.worker.process_priority._read_title", lambda pid: titles.get(pid, ""))
        priorities = Priorities()
        priorities.find_server(ours)
        priorities.lower_logins(["ben"])
        priorities.lower_new_sessions()
        titles[session] = "postgres: ann loci SELECT"
        for _ in range(2):
            priorities.lower_new_sessions()
        assert {os.sched_getscheduler(pid) for pid in titles} == {os.sched_getscheduler(0)}
        priorities.lower_logins(["ann", "ben"])
        for _ in range(2):
            priorities.lower_new_sessions()
        assert [os.sched_getscheduler(pid) == os.SCHED_IDLE for pid in titles] == [False, True, True]


def test_a_priority_refused_for_the_moment_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(*_: object) -> None:
        raise BlockingIOError

    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        try:
            with monkeypatch.context() as patched:
                patched.setattr(Path, "write_text", later)
                assert not lower_priority(child.pid)
            eventually(lambda: lower_priority(child.pid))  # it may be put off indeed
            assert os.sched_getscheduler(child.pid) == os.SCHED_IDLE
            assert group_of(child.pid) in {"", "19"}
        finally:
            child.kill()
