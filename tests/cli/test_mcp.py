"""What `loci mcp` promises as a process: the protocol on stdout and nothing else, the tools over it, and an orderly end."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.cli.conftest import Loci, environment_of, wait_until_ready
from tests.services import PATIENCE, eventually
from tests.tools import ERAS, Tools, connected

Ended = Callable[[subprocess.Popen[str]], tuple[int, str, str]]
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@contextmanager
def spoken_to(loci: Loci, *options: str, mode: str = "auto", **environment: str) -> Iterator[Tools]:
    """A client that has started `loci mcp` over the module's database."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "service.cli", "mcp", *options],
        env=environment_of(loci.database, **environment),
    )
    with connected(started, mode) as tools:
        yield tools


def sent(process: subprocess.Popen[str], method: str, **params: Any) -> None:
    """Write a request to a process that was started by hand."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
    process.stdin.flush()


def received(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line of its stdout, which must be of the protocol."""
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    assert message["jsonrpc"] == "2.0"
    return message


def start(loci: Loci, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start it by hand, and open the conversation."""
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "mcp", *options],
        env=environment_of(loci.database, **environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    sent(process, "initialize", **CLIENT)
    assert received(process)["result"]["serverInfo"]["name"] == "loci"
    assert process.stdin is not None
    process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    process.stdin.flush()
    return process


def saved(process: subprocess.Popen[str], content: str) -> dict[str, Any]:
    """Save a memory over a process that was started by hand: the result."""
    sent(process, "tools/call", name="save_memory", arguments={"content": content})
    result: dict[str, Any] = received(process)["result"]
    return result


@pytest.mark.parametrize("mode", ERAS)
def test_tools_over_stdio_read_and_write_the_namespace_and_the_space_that_were_named(loci: Loci, namespace: str, mode: str) -> None:
    with spoken_to(loci, "--namespace", namespace, "--space", "session/abc", mode=mode) as tools:
        assert len(tools.listed()) == 16
        memory = tools("save_memory", content="I prefer tea", category="user-preferences/drinks")
        assert tools("search_memory", query="What do I drink? tea?")["results"][0]["id"] == memory["id"]
        assert tools("save_to_working_memory", key="plan", data={"a": 1})["key"] == "session/abc/plan"
        assert tools.text("get_from_working_memory", key="plan") == '{"a": 1}'
        assert "does not exist" in tools.error("graph_traverse", startEntity="Nobody")
    (row,) = loci.rows(
        """select m.id::text, m.content, m.session_id, n.name from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
           where n.name = %s""",
        namespace,
    )
    assert row == {"id": memory["id"], "content": "I prefer tea", "session_id": "abc", "name": namespace}


def test_a_key_over_stdio_has_its_rights_and_no_others(loci: Loci, namespace: str) -> None:
    key = json.loads(loci("key", "create", "--namespace", namespace, "--role", "reader", "--json").stdout)["key"]
    with spoken_to(loci, LOCI_KEY=key) as tools:
        assert tools("list_memory_categories") == {"categories": []}
        assert "Not allowed" in tools.error("save_memory", content="x")
    with spoken_to(loci, LOCI_KEY="loci_wrong") as tools:
        assert "needs a valid API key" in tools.error("list_memory_categories")


def test_tools_can_ask_a_service_that_runs_elsewhere(loci: Loci, namespace: str, port: int) -> None:
    key = json.loads(loci("key", "create", "--namespace", namespace, "--role", "writer", "--json").stdout)["key"]
    service = loci.start("serve", "--port", str(port), LOCI_REQUIRE_KEYS="true")
    try:
        wait_until_ready(service, port)
        nowhere = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing", "LOCI_KEY": key}
        with spoken_to(loci, "--url", f"http://127.0.0.1:{port}", **nowhere) as tools:
            memory = tools("save_memory", content="from afar")
        with spoken_to(loci, "--url", f"http://127.0.0.1:{port}/api/v1/", LOCI_KEY="loci_wrong") as tools:
            assert "needs a valid API key" in tools.error("save_memory", content="x")
    finally:
        service.send_signal(signal.SIGTERM)
        service.communicate(timeout=PATIENCE)
    assert loci.rows("select content from loci_data.memories where id = %s", memory["id"]) == [{"content": "from afar"}]


def test_a_service_or_database_that_is_not_there_is_an_error_of_the_tool_which_says_what_to_do(loci: Loci) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with spoken_to(loci, "--url", url) as tools:
        assert f"no service answers at {url}" in tools.error("list_memory_categories")
    with spoken_to(loci, DATABASE_URL="postgresql://loci_app@127.0.0.1:1/nothing") as tools:
        for _ in range(2):
            assert "cannot reach the database" in (text := tools.error("list_memory_categories"))
            assert "DATABASE_URL" in text
    with spoken_to(loci, DATABASE_URL=loci.database.admin_url) as tools:
        assert "superuser" in tools.error("list_memory_categories")


def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_it(loci: Loci, namespace: str, ended: Ended) -> None:
    process = start(loci, LOCI_NAMESPACE=namespace, LOCI_LOG_LEVEL="DEBUG", LOCI_HOST="0.0.0.0")
    assert saved(process, "said")["structuredContent"]["duplicate"] is False
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(("number", "used"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_a_signal_ends_it_although_stdin_is_open(
    loci: Loci, namespace: str, ended: Ended, number: signal.Signals, used: bool
) -> None:
    process = start(loci, "--namespace", namespace)
    if used:
        assert not saved(process, "said").get("isError")
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert loci.rows("select 1 from pg_stat_activity where datname = current_database() and usename = 'loci_app'") == []


def test_it_starts_the_embedded_database_when_it_is_needed_and_leaves_it_stopped(loci: Loci, tmp_path: Path) -> None:
    pid = tmp_path / "pg" / "postmaster.pid"
    process = start(loci, DATABASE_URL="", LOCI_DATA_DIR=str(tmp_path))
    assert not pid.exists()
    assert not saved(process, "kept").get("isError")
    assert pid.exists()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    eventually(lambda: not pid.exists())
    process = start(loci, DATABASE_URL="", LOCI_DATA_DIR=str(tmp_path))
    assert saved(process, "kept")["structuredContent"]["duplicate"] is True
    process.communicate(timeout=PATIENCE)
    eventually(lambda: not pid.exists())
