"""The embedded server lives as long as somebody uses it, however those who use it end."""

import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from db.embedded import DATABASE, EmbeddedServer
from db.embedded.locks import is_held
from tests.catalogue import PYTHONPATH
from tests.cli.conftest import Running, reserved_port, wait_until_ready
from tests.databases import ADMIN_URL, VERSION, data_folder
from tests.forked import Command
from tests.services import PATIENCE, eventually

pytestmark = pytest.mark.skipif(ADMIN_URL is not None, reason="about the embedded server")
USER = """
import json, signal, sys
from pathlib import Path
from db.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), int(sys.argv[2]))
print(json.dumps({"joined": server.joined, "url": server.connection_url("postgres", "postgres")}), flush=True)
if sys.stdin.readline() == "leave\\n":
    server.leave_server()
"""
FIRST = """
import sys
import db.embedded.system_user as module
module.NAME = sys.argv[1]
print(module.system_user().pw_uid)
"""
TOLD = [signal.SIGTERM]  # by which uvicorn ends without what runs at an exit; by the other it ends with that
if os.environ.get("HYPOTHESIS_PROFILE") == "thorough":
    TOLD.append(signal.SIGINT)
WAITS = ("psql", "-c", "select pg_sleep(600)")
Start = Callable[..., subprocess.Popen[str]]
Loci = Callable[..., Command]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder with a migrated database; its server is stopped at the end, whatever became of its users."""
    with data_folder(migrated=True) as made:
        yield made
        with suppress(Exception):
            EmbeddedServer(made, VERSION).leave_server()


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start processes over the folder: one that only uses the server, or the command given."""
    started: list[subprocess.Popen[str]] = []

    def make(*command: str, **environment: str) -> subprocess.Popen[str]:
        made = command or (sys.executable, "-c", USER, str(folder), str(VERSION))
        pipe, variables = subprocess.PIPE, {**found_by(folder), **environment}
        started.append(
            subprocess.Popen(made, env=variables, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        )
        return started[-1]

    yield make
    end_all(started)


@pytest.fixture
def loci(folder: Path) -> Iterator[Loci]:
    """Start commands over the folder, which have loaded the code."""
    started: list[Command] = []

    def make(*arguments: str) -> Command:
        started.append(Command(arguments, found_by(folder)))
        return started[-1]

    yield make
    end_all(started)


def found_by(folder: Path) -> dict[str, str]:
    """The environment of those who use the server of a folder."""
    given = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "LOCI_DATABASE_URL"}}
    return {**given, "PYTHONPATH": PYTHONPATH, "LOCI_DATA_DIR": str(folder), "LOCI_POSTGRES_VERSION": str(VERSION)}


def end_all(started: Sequence[Running]) -> None:
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def said(process: Running) -> dict[str, Any]:
    """What a user says once it is in."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()
    return dict(json.loads(line))


def leave(process: Running, how: str | signal.Signals) -> None:
    """End a user: by its own will, or by a signal."""
    if isinstance(how, signal.Signals):
        process.send_signal(how)
        process.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it has started, but for the server, which is in a session of its own
        process.communicate(timeout=PATIENCE)
    else:
        process.communicate(f"{how}\n", timeout=PATIENCE)


def nothing_is_made(folder: Path) -> None:
    """As before anybody has ever used it."""
    shutil.rmtree(folder / "pg")


def runs(folder: Path) -> bool:
    return is_held(folder / "server.lock")


def postmaster(folder: Path) -> int:
    return int((folder / "pg" / "postmaster.pid").read_text().split()[0])


@pytest.mark.parametrize("last", ["leave", "end without a word"])
def test_the_last_user_stops_the_server_and_a_killed_one_does_not_count(folder: Path, start: Start, last: str) -> None:
    first = start()
    assert not said(first)["joined"]
    leave(first, signal.SIGKILL)
    assert runs(folder)
    second, third = start(), start()
    assert said(second)["joined"]
    assert said(third)["joined"]
    leave(second, "leave")
    assert runs(folder)
    leave(third, last)
    assert not runs(folder)
    assert not (folder / "pg" / "postmaster.pid").exists()


@pytest.mark.release
def test_many_that_start_at_once_use_one_server(folder: Path, start: Start) -> None:
    nothing_is_made(folder)
    users = [start() for _ in range(5)]
    found = [said(user) for user in users]
    assert sorted(one["joined"] for one in found) == [False, True, True, True, True]
    number = postmaster(folder)
    for user in users[:3]:
        leave(user, signal.SIGKILL)
    assert (runs(folder), postmaster(folder)) == (True, number)
    for user in users[3:]:
        leave(user, "leave")
    assert not runs(folder)


@pytest.mark.release
def test_one_that_was_killed_while_it_made_the_data_hinders_nobody(folder: Path, start: Start) -> None:
    nothing_is_made(folder)
    never_done = USER.replace("server =", "Path.rename = lambda *_: sys.stdin.read()\nserver =")
    first = start(sys.executable, "-c", never_done, str(folder), str(VERSION))
    eventually((folder / "pg.new" / "PG_VERSION").exists)
    leave(first, signal.SIGKILL)
    assert not (folder / "pg").exists()
    second = start()
    assert not said(second)["joined"]


@pytest.mark.parametrize("whose", ["another process", "nobody"])
def test_a_number_left_behind_is_not_taken_for_the_server(folder: Path, start: Start, whose: str) -> None:
    """As after a cut of power, and in a folder that another machine or container has used."""
    bystander = subprocess.Popen(["sleep", str(PATIENCE)])
    number = bystander.pid
    try:
        if whose == "nobody":
            bystander.kill()
            bystander.wait()
        left = f"{number}\n{folder / 'pg'}\n1700000000\n5432\n{folder / 'pg'}\n\n  1234567  99\nready   \n"
        (folder / "pg" / "postmaster.pid").write_text(left)
        (folder / "pg" / ".s.PGSQL.5432.lock").write_text(left)
        user = start()
        assert not said(user)["joined"]
        assert postmaster(folder) != number
        leave(user, "leave")
        assert not runs(folder)
        assert whose == "nobody" or bystander.poll() is None  # it was not taken for a server that is to be stopped
    finally:
        bystander.kill()
        bystander.wait()


def test_a_server_whose_process_is_not_seen_here_is_left_alone(folder: Path) -> None:
    """As one in another container, under a number that means somebody else here."""
    server = EmbeddedServer(folder, VERSION)
    bystander = subprocess.Popen(["sleep", str(PATIENCE)])
    file = folder / "pg" / "postmaster.pid"
    try:
        kept = file.read_text()
        file.write_text(kept.replace(str(postmaster(folder)), str(bystander.pid), 1))
        server.leave_server()
        assert runs(folder)
        assert bystander.poll() is None
        file.write_text(kept)
    finally:
        bystander.kill()
        bystander.wait()
    later = EmbeddedServer(folder, VERSION)
    assert later.joined
    later.leave_server()
    assert not runs(folder)


def test_two_in_one_process_are_two_users_and_leaving_twice_is_leaving_once(folder: Path) -> None:
    first, second = EmbeddedServer(folder, VERSION), EmbeddedServer(folder, VERSION)
    first.leave_server()
    first.leave_server()
    assert runs(folder)
    first.ensure_running()  # one that has left starts nothing
    second.leave_server()
    first.ensure_running()
    assert not runs(folder)


@pytest.mark.release
def test_users_that_notice_a_dead_server_at_once_start_one(folder: Path) -> None:
    users = [EmbeddedServer(folder, VERSION) for _ in range(3)]
    before = postmaster(folder)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not runs(folder))
    threads = [threading.Thread(target=user.ensure_running) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert postmaster(folder) != before
    with psycopg.connect(users[0].connection_url("postgres")) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    for user in users:
        user.leave_server()
    assert not runs(folder)


@pytest.mark.release
@pytest.mark.parametrize("told", TOLD)
def test_a_service_under_uvicorn_stops_it(folder: Path, start: Start, told: signal.Signals) -> None:
    with reserved_port() as port:
        factory = (sys.executable, "-m", "uvicorn", "--factory", "service.app:from_environment", "--port", str(port))
        service = start(*factory, LOCI_EMBEDDING__PROVIDER="none")
        wait_until_ready(service, port)
        leave(service, told)
    assert not runs(folder)


@pytest.mark.release
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_stops_it(folder: Path, loci: Loci, told: signal.Signals) -> None:
    command = loci(*WAITS)
    eventually(lambda: watches(folder))
    leave(command, told)
    assert command.returncode in {0, 128 + told}
    assert not runs(folder)


def test_a_command_that_was_killed_leaves_it_to_the_next(folder: Path, loci: Loci) -> None:
    command = loci(*WAITS)
    eventually(lambda: watches(folder))
    leave(command, signal.SIGKILL)
    assert runs(folder)
    leave(loci("namespace", "list"), "")
    assert not runs(folder)


def watches(folder: Path) -> bool:
    """Whether somebody is connected as the service."""
    noted = folder / "socket"  # where the socket is, if its path beside the data would be too long
    host = noted.read_text() if noted.exists() else folder / "pg"
    with suppress(psycopg.Error), psycopg.connect(f"postgresql://postgres@/{DATABASE}?host={host}") as connection:
        found = connection.execute("select count(*) from pg_stat_activity where usename = 'loci_app'").fetchone()
        return found is not None and found[0] > 0
    return False


@pytest.mark.release
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a server as somebody else")
def test_processes_that_are_the_first_on_a_machine_agree_on_whom_they_start_servers_as(tmp_path: Path) -> None:
    slow = tmp_path / "useradd"  # all would have looked for the user before the first has made it
    slow.write_text(f'#!/bin/sh\nsleep 0.3\nexec {shutil.which("useradd")} "$@"\n')
    slow.chmod(0o755)
    name = f"loci{secrets.token_hex(4)}"
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    try:
        command = (sys.executable, "-c", FIRST, name)
        started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        told = {process.communicate(timeout=PATIENCE)[0] for process in started}
        assert told == {f"{pwd.getpwnam(name).pw_uid}\n"}
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)
