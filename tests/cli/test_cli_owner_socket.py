"""Commands and `loci mcp` find the service that runs on their data, and open the database only where none does."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.stdio import StdioServerParameters

from service.cli.owner_socket import OwnerSocket, answers_request, find_service, folder_of, leave_socket, short_path
from service.cli.rest import OPENED
from service.settings import get_settings
from tests.catalogue import ROOT
from tests.cli.conftest import Ended, Loci, Running, environment_of, reserved_port, wait_until_ready
from tests.databases import data_folder
from tests.forked import Command
from tests.services import PATIENCE, eventually
from tests.tools import connected

PYTHONPATH = f"{ROOT}:{ROOT / 'client'}"
HEAVY = {
    "fastapi",
    "httpx",
    "mcp",
    "mcp_types",
    "numpy",
    "procrastinate",
    "psycopg",
    "pydantic_settings",
    "rich",
    "sqlalchemy",
    "starlette",
}


@contextmanager
def serving(loci: Loci, folder: Path, *options: str, **environment: str) -> Iterator[tuple[Running, int]]:
    """A service on the database of the tests, whose data folder is `folder`; it ends with the block."""
    with reserved_port() as port:
        named = {"LOCI_DATA_DIR": str(folder), "LOCI_EMBEDDING__PROVIDER": "none", **environment}
        process = Command(["serve", "--port", str(port), *options], environment_of(loci.database, **named))
        try:
            wait_until_ready(process, port)
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


@pytest.fixture
def data(loci: Loci, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that commands of this process and services share."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("LOCI_DATA_DIR", str(folder))
    return folder


def sockets(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("[!.]*") if path.is_socket())


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What commands of this process opened themselves."""
    found: list[str] = []

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def application(**options: Any) -> Any:
            found.append("application")
            return work(**options)

        return application

    from service.cli import local_service

    monkeypatch.setattr(local_service, "open_application", watched(local_service.open_application))
    return found


def count(loci: Loci, namespace: str, *command: str) -> int:
    result = loci(*command, "-n", namespace, "--json")
    assert result.exit_code == 0, result.stderr
    return len(json.loads(result.stdout))


@pytest.mark.row("CLI")
@pytest.mark.parametrize("keys", ["false", "true"], ids=["without keys", "with keys"])
def test_a_command_asks_the_service_on_its_data_as_the_operator_whatever_its_port(
    loci: Loci, namespace: str, data: Path, opened: list[str], keys: str
) -> None:
    loci("key", "create", "-n", namespace)
    opened.clear()
    with serving(loci, data, LOCI_REQUIRE_KEYS=keys) as (_, port):
        assert loci("remember", "Ada lives in Oslo", "-n", namespace).exit_code == 0
        assert count(loci, namespace, "memory", "list") == 1
        assert loci("namespace", "list").exit_code == 0  # the operator's
        assert opened == []
        refused = httpx.get(f"http://127.0.0.1:{port}/api/v1/namespaces").status_code
        assert refused == (401 if keys == "true" else 200)
    assert loci.rows("select o.via from loci_data.operations o where o.action = 'write_memory' order by o.id desc limit 1") == [
        {"via": "cli"}
    ]
    assert sockets(data) == []
    assert count(loci, namespace, "memory", "list") == 1
    assert opened == ["application"]


def test_a_key_that_is_stated_counts_at_the_owners_socket_too(
    loci: Loci, namespace: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = json.loads(loci("key", "create", "-n", namespace, "--role", "reader", "--json").stdout)["key"]
    with serving(loci, data):
        monkeypatch.setenv("LOCI_KEY", key)
        assert count(loci, namespace, "memory", "list") == 0
        assert loci("remember", "x", "-n", namespace).exit_code == 1
        monkeypatch.setenv("LOCI_KEY", "loci_wrong")
        assert "key" in loci("memory", "list", "-n", namespace).stderr


def test_the_second_service_of_a_folder_is_asked_when_the_first_ends(
    loci: Loci, namespace: str, data: Path, opened: list[str]
) -> None:
    with serving(loci, data):
        with serving(loci, data):
            assert len(sockets(data)) == 2
            assert count(loci, namespace, "memory", "list") == 0
        assert len(sockets(data)) == 1
        assert count(loci, namespace, "memory", "list") == 0
    assert opened == []


def test_leftovers_of_a_killed_service_are_not_asked_and_are_removed(
    loci: Loci, namespace: str, data: Path, opened: list[str]
) -> None:
    with serving(loci, data) as (process, _):
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        (left,) = sockets(data)
        assert count(loci, namespace, "memory", "list") == 0
        assert opened == ["application"]
        with serving(loci, data):
            assert left not in sockets(data)
            assert count(loci, namespace, "memory", "list") == 0
    assert opened == ["application"]


def test_several_processes_answer_at_one_socket(loci: Loci, namespace: str, data: Path, opened: list[str]) -> None:
    with serving(loci, data, "--workers", "2"):
        eventually(lambda: sockets(data))
        assert [count(loci, namespace, "memory", "list") for _ in range(4)] == [0] * 4
    assert (opened, sockets(data)) == ([], [])


def test_a_service_on_another_database_is_not_asked(
    loci: Loci, namespace: str, data: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(loci, data):
        monkeypatch.setenv("DATABASE_URL", f"{loci.database.app_url}&application_name=other")
        get_settings.cache_clear()
        assert count(loci, namespace, "memory", "list") == 0
    assert opened == ["application"]


def test_a_service_on_a_database_of_a_server_makes_no_folder_for_its_socket(loci: Loci, tmp_path: Path) -> None:
    with serving(loci, tmp_path / "none"):
        assert not (tmp_path / "none").exists()


def test_the_socket_is_its_owners_alone_and_is_shown_when_somebody_listens(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, None)
    made = OwnerSocket(folder, 8420)
    try:
        assert find_service(folder) is None
        made.publish_socket()
        (path,) = sockets(tmp_path)
        assert find_service(folder) == path
        assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)) == (0o600, 0o700)
    finally:
        made.close()
    assert (find_service(folder), sockets(tmp_path)) == (None, [])


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_a_folder_that_others_may_enter_gets_no_socket(tmp_path: Path, mode: int) -> None:
    folder_of(tmp_path, None).mkdir(parents=True)
    folder_of(tmp_path, None).chmod(mode)
    assert leave_socket(tmp_path, None, 8420) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_socket_of_another_user_is_not_asked(tmp_path: Path) -> None:
    made = OwnerSocket(folder_of(tmp_path, None), 8420)
    try:
        made.publish_socket()
        os.chown(sockets(tmp_path)[0], 65534, 65534)
        assert find_service(folder_of(tmp_path, None)) is None
    finally:
        made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="long paths of sockets have a way around on Linux alone")
def test_a_data_folder_with_a_long_path_has_its_socket_too(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / ("long" * 40), None)
    made = OwnerSocket(folder, 8420)
    try:
        made.publish_socket()
        found = find_service(folder)
        assert found is not None
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(short_path(found))  # as other libraries do
    finally:
        made.close()


def test_a_stranger_at_the_socket_is_not_taken_for_a_service(tmp_path: Path) -> None:
    made = OwnerSocket(folder_of(tmp_path, None), 8420)
    try:
        made.publish_socket()
        made.listener.setblocking(False)
        assert find_service(folder_of(tmp_path, None)) is not None
        made.listener.shutdown(socket.SHUT_RDWR)
        assert not answers_request(sockets(tmp_path)[0], "/api/v1/agents/me", {})
    finally:
        made.close()


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with data_folder(migrated=True) as folder:
        for name, value in {"DATABASE_URL": "", "LOCI_DATA_DIR": str(folder), "LOCI_EMBEDDING__PROVIDER": "none"}.items():
            monkeypatch.setenv(name, value)
        get_settings.cache_clear()
        yield folder
    get_settings.cache_clear()


def test_a_command_that_opens_the_embedded_database_says_so_on_stderr(loci: Loci, embedded: Path) -> None:
    alone = loci("memory", "list", "--json")
    assert (alone.exit_code, json.loads(alone.stdout)) == (0, [])
    assert alone.stderr == f"{OPENED} {embedded}\n"
    with serving(loci, embedded, DATABASE_URL="") as (_, port):
        asked = loci("memory", "list", "--json")
        assert (asked.exit_code, asked.stderr) == (0, "")
        told = json.loads(loci("doctor", "--json").stdout)
        assert [check["detail"] for check in told if check["name"] == "service"] == [f"ready at port {port}"]


def loaded_by(folder: Path, *arguments: str, told: str = "") -> set[str]:
    """The modules that a command has loaded when it ends, as a process of its own without any address."""
    program = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from service.cli.__main__ import main
main()
"""
    environment = {"PATH": os.environ["PATH"], "LOCI_DATA_DIR": str(folder), "PYTHONPATH": PYTHONPATH, "LC_ALL": "C.UTF-8"}
    for name in ("DATABASE_URL",):
        environment[name] = os.environ[name]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, input=told, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.row("CLI")
def test_commands_load_what_they_need_and_not_more(loci: Loci, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"typer", "pydantic", "http.client", *HEAVY} & loaded_by(data, "--version") == set()
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
    monkeypatch.setenv("DATABASE_URL", loci.database.app_url)
    with serving(loci, data):
        recalled = loaded_by(data, "recall", "Where does Ada live?", "--k", "1")
        assert (HEAVY | {"pydantic", "importlib.metadata"}) & recalled == set()
        assert [name for name in recalled if name.startswith(("db", "loci.models", "service.settings", "service.memories"))] == []
        relayed = loaded_by(data, "mcp", told=hello)
        assert (HEAVY | {"pydantic_core._pydantic_core.ValidationError"}) & relayed == set()


def test_tools_go_through_the_service_and_have_its_answers(loci: Loci, namespace: str, data: Path) -> None:
    program = [sys.executable, "-m", "service.cli"]
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": PYTHONPATH,
        "LOCI_DATA_DIR": str(data),
        "DATABASE_URL": loci.database.app_url,
        "LOCI_NAMESPACE": namespace,
    }
    with serving(loci, data, LOCI_REQUIRE_KEYS="false"):
        for mode in ("auto", "legacy"):
            with connected(
                StdioServerParameters(
                    command=program[0], args=[*program[1:], "mcp", "--space", "session/abc", "--user", "Łukasz"], env=env
                ),
                mode,
            ) as tools:
                assert len(tools.listed()) == 22
                memory = tools("save_memory", content=f"I prefer tea {mode}")
                assert memory["duplicate"] is False
                assert "does not exist" in tools.error("graph_traverse", startEntity="Nobody")
    rows = loci.rows(
        "select m.session_id, m.source, m.content from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id where n.name = %s order by m.id",
        namespace,
    )
    assert [(row["session_id"], row["source"]) for row in rows] == [("abc", "Łukasz")] * 2


def say(process: Running, **message: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def hear(process: Running) -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_a_relay_survives_a_restart_of_its_service_and_says_so_while_there_is_none(
    loci: Loci, namespace: str, data: Path, ended: Ended
) -> None:
    categories = {"method": "tools/call", "params": {"name": "list_memory_categories", "arguments": {}}}
    with serving(loci, data):
        process = Command(["mcp", "-n", namespace], environment_of(loci.database, LOCI_DATA_DIR=str(data)))
        say(process, id=1, **categories)
        assert hear(process)["result"]["structuredContent"] == {"categories": []}
    say(process, id=2, **categories)
    gone = hear(process)["result"]
    assert (gone["isError"], "`loci serve`" in gone["content"][0]["text"]) == (True, True)
    say(process, id=3, method="tools/list")
    assert hear(process)["error"]["code"] == -32603
    process.stdin.write("no JSON\n")  # type: ignore[union-attr]
    process.stdin.flush()  # type: ignore[union-attr]
    assert hear(process)["error"]["code"] == -32700
    with serving(loci, data):
        say(process, id=4, **categories)
        assert hear(process)["result"]["structuredContent"] == {"categories": []}
        process.send_signal(signal.SIGTERM)
        code, out, _ = ended(process)
    assert (code, out) == (0, "")


def test_a_key_that_the_service_refuses_is_explained_by_the_tools(loci: Loci, data: Path, ended: Ended) -> None:
    with serving(loci, data):
        process = Command(["mcp"], environment_of(loci.database, LOCI_DATA_DIR=str(data), LOCI_KEY="loci_wrong"))
        say(
            process,
            id=1,
            method="initialize",
            params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        )
        assert hear(process)["result"]["serverInfo"]["name"] == "loci"
        say(process, method="notifications/initialized")
        say(process, id=2, method="tools/call", params={"name": "list_memory_categories", "arguments": {}})
        assert "needs a valid API key" in hear(process)["result"]["content"][0]["text"]
        process.send_signal(signal.SIGTERM)
        ended(process)
