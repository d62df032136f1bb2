"""`loci analyst`: a login that sees what it was granted, until it is revoked or dropped."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql
from sqlalchemy.engine import make_url

from db.access.analysts import drop_analyst
from db.pool import Origin
from service.access.analysts import uri_of
from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.databases import PASSWORD
from tests.services import PATIENCE, eventually

Connect = Callable[..., psycopg.Connection[Any]]
HELD = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'drop role%'"


@pytest.fixture
def login(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A name for a login, removed at the end; commands may make it."""
    monkeypatch.setenv("LOCI_MIGRATION_URL", loci.database.admin_url)
    get_settings.cache_clear()
    name = f"analyst {uuid4().hex[:12]}"
    yield name
    loci("analyst", "drop", name)


@pytest.fixture
def connect(loci: Loci, login: str) -> Iterator[Connect]:
    """Open sessions of the login; closed at the end."""
    opened: list[psycopg.Connection[Any]] = []

    def open_session(password: str | None = None) -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(uri_of(loci.database.app_url, login), password=password, autocommit=True))
        return opened[-1]

    yield open_session
    for connection in opened:
        connection.close()


def created(loci: Loci, login: str, namespace: str, *options: str) -> dict[str, Any]:
    result = loci("analyst", "create", login, "--namespace", namespace, *options, "--json")
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))


def remember(loci: Loci, namespace: str, content: str) -> None:
    loci.rows("select * from loci_api.remember(%s, %s::jsonb)", namespace, json.dumps([{"content": content}]))


def seen(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute("select content from loci.current_memories order by content").fetchall()]


@pytest.mark.row("X2")
def test_an_analyst_sees_the_namespaces_that_it_was_given_and_no_other(
    loci: Loci, login: str, namespace: str, connect: Connect
) -> None:
    loci("namespace", "create", f"{namespace}-b")
    remember(loci, namespace, "mine")
    remember(loci, f"{namespace}-b", "theirs")
    made = created(loci, login, namespace)
    session = connect(made["password"])
    assert seen(session) == ["mine"]
    assert session.execute("select content from loci_data.memories").fetchall() == [("mine",)]
    assert session.execute("select name from loci_data.namespaces").fetchall() == [(namespace,)]
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute("select * from loci.search_text(%s, 'theirs')", [f"{namespace}-b"])
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute("select * from loci_data.agents")


@pytest.mark.row("X2")
def test_the_printed_line_leads_to_where_the_person_is(
    loci: Loci, login: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_ANALYST_ADDRESS", "postgresql://127.0.0.1:5433/loci")
    get_settings.cache_clear()
    made = created(loci, login, namespace)
    assert made["uri"].endswith("@127.0.0.1:5433/loci")
    assert make_url(made["uri"]).username == login
    said = loci("analyst", "password", login)
    assert f"psql '{made['uri']}'" in said.stderr
    assert "LOCI_POSTGRES_PORT" not in said.stderr
    monkeypatch.delenv("LOCI_ANALYST_ADDRESS")
    get_settings.cache_clear()
    said = loci("analyst", "password", login)
    assert ("LOCI_POSTGRES_PORT=5433" in said.stderr) == ("host=" in loci.database.app_url)


def test_a_revoked_namespace_is_gone_with_the_next_statement_of_an_open_session(
    loci: Loci, login: str, namespace: str, connect: Connect
) -> None:
    remember(loci, namespace, "mine")
    session = connect(created(loci, login, namespace)["password"])
    assert seen(session) == ["mine"]
    assert loci("analyst", "revoke", login, "--namespace", namespace).exit_code == 0
    assert seen(session) == []
    assert loci("analyst", "grant", login, "--namespace", namespace).exit_code == 0
    assert seen(session) == ["mine"]


def test_a_grant_ends_at_its_time(loci: Loci, login: str, namespace: str, connect: Connect) -> None:
    remember(loci, namespace, "mine")
    session = connect(created(loci, login, namespace, "--expires", "2100-01-01")["password"])
    assert seen(session) == ["mine"]
    loci.rows(
        "update loci_data.grants set expires_at = now() - interval '1 second' where agent_id = loci_api.analyst_agent_id(%s::name) returning 1",
        login,
    )
    assert seen(session) == []
    (listed,) = [row for row in json.loads(loci("analyst", "list", "--json").stdout) if row["login"] == login]
    assert listed["namespaces"] == []


def test_dropping_an_analyst_ends_its_session_and_leaves_nothing_of_it(
    loci: Loci, login: str, namespace: str, connect: Connect
) -> None:
    session = connect(created(loci, login, namespace)["password"])
    assert loci("analyst", "drop", login).exit_code == 0
    with pytest.raises(psycopg.OperationalError):
        session.execute("select 1")
    assert loci.rows("select rolname from pg_roles where rolname = %s", login) == []
    assert loci.rows("select id from loci_data.agents where database_role = %s", login) == []
    with pytest.raises(psycopg.OperationalError):
        connect()


def test_while_an_analyst_is_dropped_its_client_does_not_come_back(
    loci: Loci, login: str, namespace: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.access.analysts.LOCK_TIMEOUT", f"{PATIENCE:.0f}s")
    password = created(loci, login, namespace)["password"]
    session = connect(password)
    with loci.database.admin() as holder, loci.database.admin() as watcher, ThreadPoolExecutor(1) as pool:
        with holder.transaction(force_rollback=True):  # nobody drops the role before it ends
            holder.execute(sql.SQL("comment on role {} is 'held'").format(sql.Identifier(login)))
            dropping = pool.submit(drop_analyst, loci.database.admin_url, login=login, origin=Origin(action="test", via="cli"))
            eventually(lambda: dropping.done() or watcher.execute(HELD).rowcount > 0)
            assert not dropping.done()
            with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
                connect(password)
        dropping.result(PATIENCE)
    with pytest.raises(psycopg.OperationalError):
        session.execute("select 1")
    assert loci.rows("select rolname from pg_roles where rolname = %s", login) == []


def test_a_login_has_the_settings_of_its_group_and_limits(loci: Loci, login: str, namespace: str, connect: Connect) -> None:
    session = connect(created(loci, login, namespace, "--timeout", "7s")["password"])
    wanted = {
        "jit": "off",
        "hnsw.ef_search": "128",
        "hnsw.iterative_scan": "strict_order",
        "statement_timeout": "7s",
        "idle_in_transaction_session_timeout": "1min",
        "lock_timeout": "5s",
        "max_parallel_workers_per_gather": "0",
        "default_transaction_read_only": "on",
        "enable_seqscan": "off",
        "temp_file_limit": "4GB",
        "TimeZone": "UTC",
    }
    found = {name: session.execute("select current_setting(%s)", [name]).fetchone()[0] for name in wanted}  # type: ignore[index]
    assert found == wanted
    assert session.execute("show search_path").fetchone()[0].startswith("loci, ")  # type: ignore[index]
    (role,) = loci.rows("select * from pg_roles where rolname = %s", login)
    assert (role["rolconnlimit"], role["rolsuper"], role["rolcreaterole"], role["rolbypassrls"]) == (3, False, False, False)


def test_an_analyst_writes_nothing_whatever_it_sets(loci: Loci, login: str, namespace: str, connect: Connect) -> None:
    remember(loci, namespace, "mine")
    session = connect(created(loci, login, namespace)["password"])
    session.execute("set default_transaction_read_only = off")
    session.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
    for statement in (
        "select * from loci_api.remember('default', '[]')",
        "delete from loci_data.memories",
        "insert into loci_data.grants values (1, gen_random_uuid(), 'admin')",
        "set role loci_app",
        "set role loci_analyst",
        "create table loci.x ()",
        "select loci_api.grant_analyst('default', 'x')",
        "select * from loci_api.list_analysts()",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute(sql.SQL(statement))  # type: ignore[arg-type]
    assert seen(session) == ["mine"]


@pytest.mark.row("X9")
def test_a_statement_past_its_limit_is_stopped_by_the_service_though_its_session_set_no_limit(
    loci: Loci, login: str, namespace: str, connect: Connect
) -> None:
    password = created(loci, login, namespace, "--timeout", "500ms")["password"]
    session, holder = connect(password), connect(password)
    for opened in (session, holder):
        opened.execute("set statement_timeout = 0")
    with holder.cursor() as cursor, psycopg.connect(loci.database.app_url, autocommit=True) as service:
        service.execute("select set_config('loci.agent', %s, false)", ["00000000-0000-0000-0000-000000000000"])
        pid = session.info.backend_pid
        session.pgconn.send_query(b"select pg_sleep(600)")
        stopped: list[Any] = []
        while pid not in [row[1] for row in stopped]:
            stopped += service.execute("select * from loci_api.stop_analysts()").fetchall()
        assert {(row[0], row[2]) for row in stopped if row[1] == pid} == {(login, True)}
        cursor.execute("select 1")  # a session that keeps to the limit is left alone
    with pytest.raises(psycopg.OperationalError):
        session.execute("select 1")


def test_the_password_is_shown_once_and_can_be_replaced(loci: Loci, login: str, namespace: str) -> None:
    made = loci("analyst", "create", login, "--namespace", namespace)
    password = made.stdout.strip()
    assert len(password) >= 32
    assert uri_of(loci.database.app_url, login) in made.stderr
    (stored,) = loci.rows("select rolpassword from pg_authid where rolname = %s", login)
    assert stored["rolpassword"].startswith("SCRAM-SHA-256$")
    again = loci("analyst", "password", login, "--password-stdin", input="correct horse battery staple\n")
    assert (again.exit_code, again.stdout) == (0, "")
    (replaced,) = loci.rows("select rolpassword from pg_authid where rolname = %s", login)
    assert replaced != stored
    assert password not in json.dumps(loci.rows("select * from loci_data.changes"), default=str)


def test_making_an_analyst_is_whole_or_nothing(loci: Loci, login: str, namespace: str) -> None:
    result = loci("analyst", "create", login, "--namespace", namespace, "--namespace", "no-such-one")
    assert result.exit_code == 1
    assert "namespace 'no-such-one' does not exist" in result.stderr
    assert loci.rows("select rolname from pg_roles where rolname = %s", login) == []
    created(loci, login, namespace)
    twice = loci("analyst", "create", login, "--namespace", namespace)
    assert (twice.exit_code, "already" in twice.stderr) == (1, True)


@pytest.mark.parametrize("command", ["drop", "password"])
def test_a_role_that_is_no_analyst_is_not_touched(loci: Loci, login: str, command: str) -> None:
    before = loci.rows("select rolpassword, rolcanlogin from pg_authid where rolname = 'loci_app'")
    result = loci("analyst", command, "loci_app")
    assert (result.exit_code, "is not an analyst" in result.stderr) == (1, True)
    assert loci.rows("select rolpassword, rolcanlogin from pg_authid where rolname = 'loci_app'") == before
    assert login


@pytest.mark.parametrize("name", ["pg_monitor", "loci_x", "x" * 64, "a\nb", ""])
def test_a_name_that_is_reserved_or_no_name_is_refused(loci: Loci, login: str, namespace: str, name: str) -> None:
    assert loci("analyst", "create", name, "--namespace", namespace).exit_code == 2
    assert login


@pytest.mark.parametrize("timeout", ["0", "30", "1 fortnight", "-1s"])
def test_a_timeout_must_be_a_time(loci: Loci, login: str, namespace: str, timeout: str) -> None:
    assert loci("analyst", "create", login, "--namespace", namespace, f"--timeout={timeout}").exit_code == 2


def test_without_the_owners_connection_a_login_cannot_be_made(loci: Loci, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCI_MIGRATION_URL", raising=False)
    get_settings.cache_clear()
    result = loci("analyst", "create", "somebody", "--namespace", namespace)
    assert result.exit_code == 1
    assert "LOCI_MIGRATION_URL" in result.stderr


def test_a_role_that_may_make_roles_can_make_and_drop_an_analyst(
    loci: Loci, login: str, namespace: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = f"manager_{uuid4().hex[:12]}"
    remember(loci, namespace, "mine")
    with loci.database.admin() as admin:
        role = sql.Identifier(manager)
        admin.execute(sql.SQL("create role {} login createrole password {}").format(role, sql.Literal(PASSWORD)))
        admin.execute(sql.SQL("grant loci_owner, loci_app, loci_analyst to {} with admin option").format(role))
        url = make_url(loci.database.admin_url).set(username=manager, password=PASSWORD).render_as_string(hide_password=False)
        monkeypatch.setenv("LOCI_MIGRATION_URL", url)
        get_settings.cache_clear()
        try:
            session = connect(created(loci, login, namespace)["password"])
            assert seen(session) == ["mine"]
            dropped = loci("analyst", "drop", login)
            assert dropped.exit_code == 0, dropped.stderr
            with pytest.raises(psycopg.OperationalError):
                session.execute("select 1")
        finally:
            admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(role))


def test_the_log_has_who_made_an_analyst_and_its_grants(loci: Loci, login: str, namespace: str) -> None:
    created(loci, login, namespace)
    loci("analyst", "revoke", login, "--namespace", namespace)
    found = loci.rows(
        """select o.via, b.action
           from (select namespace_id, operation_id, kind, action, changed_at from loci_data.outbox
                 union all select namespace_id, operation_id, kind, action, changed_at from loci_data.changes) b
           join loci_data.operations o on o.namespace_id = b.namespace_id and o.id = b.operation_id
           join loci_data.namespaces n on n.id = b.namespace_id where n.name = %s and b.kind = 'grant' order by b.changed_at""",
        namespace,
    )
    assert [(row["via"], row["action"]) for row in found] == [("cli", "created"), ("cli", "erased")]


def test_psql_as_an_analyst_gives_its_uri_and_does_not_pose_as_the_operator(loci: Loci, login: str, namespace: str) -> None:
    created(loci, login, namespace)
    printed = loci("psql", "--as", login, "--print").stdout.strip()
    assert printed == uri_of(loci.database.app_url, login)
    assert "%20" in printed
