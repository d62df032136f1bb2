"""Who gets into the embedded server: the owner of its files without a password, and nobody else without the right one."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from db.embedded import DATABASE, DoesNotStart, EmbeddedServer
from db.embedded.cluster import LOCALE
from db.embedded.logins import write_logins
from service.cli.database import find_psql
from tests.databases import ADMIN_URL, VERSION, data_folder, made_once
from tests.services import eventually

pytestmark = pytest.mark.skipif(ADMIN_URL is not None, reason="about the embedded server")
RIGHT = "correct horse battery staple"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder in which a server has been: to make one takes longer than all that is looked at here."""
    with data_folder() as made:
        made_once("embedded", made / "pg", lambda: EmbeddedServer(made, VERSION).leave_server())
        yield made


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedServer]:
    """A server with an analyst, who has a password, and somebody who has none."""
    with data_folder() as made:
        yield from filled(made)


def filled(folder: Path) -> Iterator[EmbeddedServer]:
    with pytest.MonkeyPatch.context() as patched:  # who makes it may speak what is not installed
        patched.setenv("LC_ALL", "tr_TR.UTF-8")
        patched.setenv("LANG", "xx_XX.UTF-8")
        server = EmbeddedServer(folder, VERSION)
    with psycopg.connect(server.connection_url("postgres"), autocommit=True) as admin:
        admin.execute(
            sql.SQL("create role loci_app login; create role ann login password {}; create role bob login").format(
                sql.Literal(RIGHT)
            )
        )
    yield server
    server.leave_server()


def enters(server: EmbeddedServer, user: str, password: str | None = None, database: str = DATABASE) -> bool:
    try:
        with psycopg.connect(server.connection_url(user, database), password=password) as connection:
            return connection.execute("select current_user").fetchone() == (user,)
    except psycopg.OperationalError:
        return False


@pytest.mark.parametrize("user", ["postgres", "loci_app"])
def test_a_process_of_the_owner_needs_no_password_for_the_roles_of_the_service(embedded: EmbeddedServer, user: str) -> None:
    assert enters(embedded, user)
    assert enters(embedded, user, "whatever the environment says")


@pytest.mark.row("X2")
@pytest.mark.parametrize(
    ("user", "password", "may"),
    [("ann", RIGHT, True), ("ann", "wrong", False), ("ann", "", False), ("ann", None, False), ("bob", "guessed", False), ("bob", None, False)],
)  # fmt: skip
@pytest.mark.parametrize("database", [DATABASE, "postgres"])
def test_everybody_else_needs_the_right_one(
    embedded: EmbeddedServer, user: str, password: str | None, may: bool, database: str
) -> None:
    assert enters(embedded, user, password, database) == may


def test_the_language_of_who_made_it_changes_neither_lower_case_nor_order(embedded: EmbeddedServer) -> None:
    with psycopg.connect(embedded.connection_url("postgres")) as connection:
        assert connection.execute("select lower('ÄÉI')").fetchone() == ("äéi",)
        statement = "select datcollate, datctype from pg_database where datname = current_database()"
        assert connection.execute(statement).fetchone() == (LOCALE, LOCALE)


def test_nobody_copies_the_files_over_a_connection(embedded: EmbeddedServer) -> None:
    for user in ("postgres", "ann"):
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry for replication"):
            psycopg.connect(f"{embedded.connection_url(user)}&replication=true", password=RIGHT)


@pytest.mark.release
@pytest.mark.row("X2")
def test_a_requested_port_listens_on_loopback_for_logins_with_a_password_alone(folder: Path, port: int) -> None:
    [server] = serving = [EmbeddedServer(folder, VERSION, port)]
    try:
        assert server.tcp_address == f"postgresql://127.0.0.1:{port}/{DATABASE}"
        with psycopg.connect(server.connection_url("postgres"), autocommit=True) as admin:
            admin.execute(
                sql.SQL("create role ann login password {p}; create role loci_app login password {p}").format(p=sql.Literal(RIGHT))
            )
            admin.execute(sql.SQL("alter role postgres password {}").format(sql.Literal(RIGHT)))
            assert admin.execute("show listen_addresses").fetchone() == ("127.0.0.1",)
        assert [
            reached(port, *login)
            for login in (("ann", RIGHT), ("ann", "wrong"), ("ann", None), ("postgres", RIGHT), ("loci_app", RIGHT))
        ] == [True, False, False, False, False]
        serving.append(EmbeddedServer(folder, VERSION))  # joins it without knowing the port
        assert (serving[1].joined, serving[1].tcp_address, enters(serving[1], "loci_app")) == (True, server.tcp_address, True)
        with pytest.raises(DoesNotStart, match=f"listens at port {port}, not at 5999"):
            EmbeddedServer(folder, VERSION, 5999)
    finally:
        for each in serving:
            each.leave_server()
    later = EmbeddedServer(folder, VERSION)  # who did not ask for it does not open it
    try:
        assert (later.tcp_address, reached(port, "ann", RIGHT), enters(later, "ann", RIGHT)) == (None, False, True)
        with pytest.raises(DoesNotStart, match="listens on no port"):
            EmbeddedServer(folder, VERSION, port)
    finally:
        later.leave_server()


def reached(port: int, user: str, password: str | None) -> bool:
    """Whether a login gets in over TCP."""
    try:
        with psycopg.connect(host="127.0.0.1", port=port, dbname=DATABASE, user=user, password=password, connect_timeout=10):
            return True
    except psycopg.OperationalError:
        return False


@pytest.mark.release
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_of_the_machine_is_not_let_in_even_where_the_socket_is_in_reach(folder: Path) -> None:
    folder.chmod(0o711)
    server = EmbeddedServer(folder, VERSION)
    try:
        with psycopg.connect(server.connection_url("postgres"), autocommit=True) as admin:
            admin.execute(sql.SQL("create role loci_app login password {}").format(sql.Literal(RIGHT)))
        (folder / "pg").chmod(0o711)
        psql = find_psql(VERSION)
        assert psql is not None
        nobody = pwd.getpwnam("nobody")
        for user in ("postgres", "loci_app"):
            command = [psql, "-c", "select 1", f"{server.connection_url(user)}&password={RIGHT.replace(' ', '%20')}"]
            asked = subprocess.run(
                command, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True, text=True, check=False
            )
            assert asked.returncode != 0
            assert f'Peer authentication failed for user "{user}"' in asked.stderr
        (folder / "pg").chmod(0o700)
    finally:
        server.leave_server()


@pytest.mark.release
@pytest.mark.parametrize("runs", [False, True], ids=["at the next start", "while it runs"])
def test_a_folder_that_trusted_everybody_does_so_no_more(folder: Path, runs: bool) -> None:
    server = EmbeddedServer(folder, VERSION)
    with psycopg.connect(server.connection_url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("create role ann login password {}").format(sql.Literal(RIGHT)))
        (folder / "pg" / "pg_hba.conf").write_text("local all all trust\n")
        admin.execute("select pg_reload_conf()")
    if not runs:
        server.leave_server()
    later = EmbeddedServer(folder, VERSION)
    try:
        assert later.joined == runs
        eventually(lambda: not enters(later, "ann", "wrong"))
        assert (enters(later, "ann", RIGHT), enters(later, "postgres")) == (True, True)
    finally:
        later.leave_server()
        server.leave_server()


def test_the_login_file_names_owner_and_root_and_only_the_owner_reads_it(tmp_path: Path) -> None:
    me = pwd.getpwuid(os.geteuid())
    assert write_logins(tmp_path, me.pw_uid)
    assert not write_logins(tmp_path, me.pw_uid)
    users = [line.split()[1:] for line in (tmp_path / "pg_ident.conf").read_text().splitlines()[1:]]
    assert {name for name, _ in users} == {f'"{name}"' for name in ("root", me.pw_name)}
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("pg_hba.conf", "pg_ident.conf")} == {0o600}


@pytest.mark.release
def test_a_folder_with_a_long_name_has_its_socket_where_only_the_owner_can_put_one(folder: Path) -> None:
    long = folder / ("a folder with a long name and 'quotes' " * 4)
    server = EmbeddedServer(long, VERSION)
    place = server.socket_folder
    try:
        assert enters(server, "postgres")
        assert place.stat().st_mode & 0o777 == 0o700
        assert place.stat().st_uid == (long / "pg").stat().st_uid
    finally:
        server.leave_server()
    again = EmbeddedServer(long, VERSION)
    try:
        assert again.socket_folder == place  # who knows its address finds it again
    finally:
        again.leave_server()
        place.rmdir()
