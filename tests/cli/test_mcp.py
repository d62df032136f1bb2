"""What `loci mcp` promises as a process: the protocol on stdout and nothing else, the tools over it, and an orderly end."""

import asyncio
import json
import os
import re
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters

from service.cli.mcp import prepare_backend
from service.mcp.server import make_server
from service.settings import get_settings
from tests.catalogue import ROOT
from tests.cli.conftest import Ended, Loci, Running, by_itself, environment_of
from tests.databases import Server, data_folder, migrated_embedded
from tests.forked import Command
from tests.services import PATIENCE, eventually, serve
from tests.tools import Tools, connected

ADA = {"name": "Ada_Lovelace", "entityType": "person", "observations": ["Wrote the first program"]}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@contextmanager
def within(loci: Loci, *options: str, heard: MessageHandlerFnT | None = None) -> Iterator[Tools]:
    """A client of what `loci mcp` starts, in this process, which costs a tenth: where streams, signals and start-up are not the question."""
    get_settings.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.cli.serve.set_up", lambda _: lambda: None)
        patch.setattr("service.cli.mcp._serve_until_end", spoken := AsyncMock())
        begun = loci("mcp", *options)
    assert begun.exit_code == 0, begun.output
    backend, headers, _, profile, max_chars = spoken.call_args.args
    made = make_server(backend.get_client, headers, listing=backend.begin_opening, profile=profile, max_chars=max_chars)
    client = Client(made, mode="auto" if heard is None else "legacy", message_handler=heard)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        try:
            yield Tools(client, portal)
        finally:
            portal.call(backend.close)


def sent(process: Running, method: str, **params: Any) -> None:
    """Write a request to a process that was started by hand."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
    process.stdin.flush()


def received(process: Running) -> dict[str, Any]:
    """The next line of its stdout, which must be of the protocol."""
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    assert message["jsonrpc"] == "2.0"
    return message


def start(
    loci: Loci,
    *options: str,
    begin: Callable[[Sequence[str], Mapping[str, str], Path | None], Running] = Command,
    told: str = "",
    folder: Path | None = None,
    **environment: str,
) -> Running:
    """Start it by hand, in a folder, and open the conversation; `told` is how its instructions begin."""
    process = begin(["mcp", *options], environment_of(loci.database, **environment), folder)
    sent(process, "initialize", **CLIENT)
    opened = received(process)["result"]
    assert opened["serverInfo"]["name"] == "loci"
    assert (opened.get("instructions") or "").startswith(told)
    assert process.stdin is not None
    process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    process.stdin.flush()
    return process


def used(process: Running, tool: str, **arguments: Any) -> dict[str, Any]:
    """Use a tool over a process that was started by hand: the result."""
    sent(process, "tools/call", name=tool, arguments=arguments)
    result: dict[str, Any] = received(process)["result"]
    return result


def saved(process: Running, content: str) -> dict[str, Any]:
    """Save a memory over a process that was started by hand: the result."""
    return used(process, "save_memory", content=content)


@pytest.mark.row("MCP")
def test_tools_over_stdio_use_the_namespace_and_the_space_that_were_named_and_stdout_has_the_protocol_alone(
    loci: Loci, namespace: str, ended: Ended
) -> None:
    """Whatever is logged, and until the end of stdin, which ends it."""
    named = {"LOCI_NAMESPACE": namespace, "LOCI_LOG_LEVEL": "DEBUG", "LOCI_HOST": "0.0.0.0"}
    process = start(loci, "--space", "session/abc", "--user", "Łukasz", begin=by_itself, **named)
    sent(process, "tools/list")
    assert len(received(process)["result"]["tools"]) == 22
    memory = used(process, "save_memory", content="I prefer tea", category="user-preferences/drinks")["structuredContent"]
    assert memory["duplicate"] is False
    assert used(process, "search_memory", query="What do I drink? tea?")["structuredContent"]["results"][0]["id"] == memory["id"]
    kept = used(process, "save_to_working_memory", key="plan", data={"a": 1})["structuredContent"]
    assert kept["key"] == "session/abc/plan"
    assert used(process, "get_from_working_memory", key="plan")["content"] == [{"type": "text", "text": '{"a": 1}'}]
    unknown = used(process, "graph_traverse", startEntity="Nobody")
    assert (unknown["isError"], "does not exist" in unknown["content"][0]["text"]) == (True, True)
    (row,) = loci.rows(
        """select m.id::text, m.content, m.session_id, m.source, n.name from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
           where n.name = %s""",
        namespace,
    )
    assert row == {"id": memory["id"], "content": "I prefer tea", "session_id": "abc", "source": "Łukasz", "name": namespace}
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "DEBUG" in err
    assert "Traceback" not in err


def test_a_key_over_stdio_has_its_rights_and_no_others(loci: Loci, namespace: str) -> None:
    key = json.loads(loci("key", "create", "--namespace", namespace, "--role", "reader", "--json").stdout)["key"]
    with within(loci, "--key", key) as tools:
        assert tools("list_memory_categories") == {"categories": []}
        assert "Not allowed" in tools.error("save_memory", content="x")
    with within(loci, "--key", "loci_wrong") as tools:
        assert "needs a valid API key" in tools.error("list_memory_categories")


def test_tools_can_ask_a_service_that_runs_elsewhere(loci: Loci, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = json.loads(loci("key", "create", "--namespace", namespace, "--role", "writer", "--json").stdout)["key"]
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    get_settings.cache_clear()
    with serve(loci.database, tcp=True, require_keys=True, worker=False) as service:
        with within(loci, "--key", key, "--url", service.url) as tools:
            memory = tools("save_memory", content="from afar")
        with within(loci, "--key", "loci_wrong", "--url", f"{service.url}/api/v1/") as tools:
            assert "needs a valid API key" in tools.error("save_memory", content="x")
    assert loci.rows("select content from loci_data.memories where id = %s", memory["id"]) == [{"content": "from afar"}]


def test_a_service_or_database_that_is_not_there_is_an_error_of_the_tool_which_says_what_to_do(
    loci: Loci, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{port}"
    with within(loci, "--url", url) as tools:
        assert f"no service answers at {url}" in tools.error("list_memory_categories")
    monkeypatch.setenv("DATABASE_URL", "postgresql://loci_app@127.0.0.1:1/nothing")
    get_settings.cache_clear()
    with within(loci) as tools:
        for _ in range(2):
            assert "cannot reach the database" in (text := tools.error("list_memory_categories"))
            assert "DATABASE_URL" in text
    monkeypatch.setenv("DATABASE_URL", loci.database.admin_url)
    get_settings.cache_clear()
    with within(loci) as tools:
        assert "superuser" in tools.error("list_memory_categories")


def test_a_signal_ends_it_although_stdin_is_open(loci: Loci, server: Server, ended: Ended) -> None:
    with within(loci):  # which nobody uses: it has nothing to leave in order
        pass
    alone = Loci(server.clone("signal"))
    sessions = "select pid from pg_stat_activity where datname = current_database() and usename = 'loci_app'"
    process = start(alone)
    assert not saved(process, "said").get("isError")
    assert alone.rows(sessions) != []
    stopped(process, signal.SIGINT, ended)
    eventually(lambda: alone.rows(sessions) == [])  # the server ends them in its own time
    server.drop(alone.database)


def stopped(process: Running, number: signal.Signals, ended: Ended) -> None:
    """End a process with a signal while its stdin is open: at once, and with nothing more to say."""
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "Traceback" not in err


@pytest.mark.row("MCP")
def test_in_a_folder_without_a_database_it_says_what_to_do_and_asks_the_service_of_this_machine_once_there_is_one(
    loci: Loci, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {"DATABASE_URL": "", "LOCI_PORT": str(port), "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"}
    lost = f"Loci has nothing to work on: there is no database in {tmp_path / '.loci'}, and no service answers at http://127.0.0.1:{port}."
    process = start(loci, folder=tmp_path, told=lost, **nothing)
    said = saved(process, "too early")
    assert said["isError"]
    assert "Run `loci serve`: it is found from the next call on" in said["content"][0]["text"]
    with serve(loci.database, tcp=True, port=port):
        assert not saved(process, "in time").get("isError")
        for name, value in nothing.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        with within(loci, "--key", "loci_secret") as tools:
            named = f"Set LOCI_URL where the client's configuration has `env`: http://127.0.0.1:{port}"
            assert named in tools.error("save_memory", content="secret")
        assert asyncio.run(prepare_backend(get_settings())[0].explain_missing_backend()) is None
    _, err = process.communicate(timeout=PATIENCE)
    assert "there is no database in" in err
    assert list(tmp_path.iterdir()) == []
    assert [row["content"] for row in loci.rows("select content from loci_data.memories where content like 'in time'")] == [
        "in time"
    ]


def entries(pages: str) -> list[dict[str, Any]]:
    """The entries of every configuration of pages that start a program."""
    read = {"json": json.loads, "toml": tomllib.loads}
    files = [read[kind](text) for kind, text in re.findall(r"^```(json|toml)\n(.*?)^```", pages, re.MULTILINE | re.DOTALL)]
    names = ("mcpServers", "servers", "context_servers", "mcp_servers")
    found = [entry for file in files for name in names for entry in file.get(name, {}).values()]
    assert len(files) == sum(1 for file in files if set(file) & set(names))
    return [entry for entry in found if "command" in entry]


@pytest.mark.row("MCP")
def test_every_configuration_on_the_page_starts_it_in_an_empty_folder_with_what_it_says_alone(
    loci: Loci, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As clients do: command, arguments and env of the file, and little else of the environment."""
    stated = entries("".join((ROOT / "docs" / page).read_text() for page in ("mcp.md", "mcp-profiles.md")))
    different = {json.dumps({**entry, "type": None, "env": entry.get("env") or None}, sort_keys=True): entry for entry in stated}
    assert (len(stated), len(different)) == (4, 4)
    assert {entry["command"] for entry in stated} == {"/path/to/loci/.venv/bin/loci"}
    program = tmp_path / "loci"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}:{ROOT / "client"} exec {sys.executable} -m service.cli "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with serve(loci.database, tcp=True, worker=False) as service:
        least = {"LOCI_PORT": service.url.rpartition(":")[2], "PATH": os.environ["PATH"], "HOME": str(folder)}
        with connected(StdioServerParameters(command=str(program), args=["mcp"], env=least, cwd=folder), "auto") as tools:
            assert "categories" in tools("list_memory_categories")
        for entry in different.values():
            env, (command, *options) = entry.get("env", {}), entry["args"]
            assert command == "mcp"
            with patch.dict(os.environ, {**env, **least}, clear=True), within(loci, *options) as tools:
                if "LOCI_DATA_DIR" in env:  # the reader's own folder
                    assert "there is no database in /path/to/loci/.loci" in tools.error("list_memory_categories")
                elif "--profile" in options:
                    assert "read_graph" in tools.listed()
                else:
                    assert "categories" in tools("list_memory_categories")
        assert list(folder.iterdir()) == []


def test_it_reads_the_file_of_its_folder_like_every_command(loci: Loci, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("LOCI_URL=http://127.0.0.1:1\n")
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.chdir(tmp_path)
    with within(loci) as tools:
        assert "no service answers at http://127.0.0.1:1/" in tools.error("save_memory", content="lost")


@pytest.fixture
def embedded() -> Iterator[Path]:
    """A folder for an embedded server, which no other run of pytest closes to it."""
    with data_folder() as folder:
        yield folder


def test_it_makes_no_embedded_database_but_starts_the_one_there_is_and_leaves_it_stopped(
    loci: Loci, embedded: Path, monkeypatch: pytest.MonkeyPatch, ended: Ended
) -> None:
    pid = embedded / "pg" / "postmaster.pid"
    for name, value in {"DATABASE_URL": "", "LOCI_DATA_DIR": str(embedded), "LOCI_EMBEDDING__PROVIDER": "none"}.items():
        monkeypatch.setenv(name, value)
    with within(loci) as tools:
        assert "there is no database in" in tools.error("save_memory", content="lost")
    assert list(embedded.iterdir()) == []
    migrated_embedded(embedded)
    process = start(loci, DATABASE_URL="")
    assert not pid.exists()
    assert not saved(process, "kept").get("isError")
    assert pid.exists()
    stopped(process, signal.SIGTERM, ended)
    eventually(lambda: not pid.exists())
    with within(loci) as tools:
        assert tools("save_memory", content="kept")["duplicate"] is True
    eventually(lambda: not pid.exists())


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")  # clients of today ask so
def test_a_profile_has_its_own_tools_alone_and_tells_who_subscribed_of_changes(
    loci: Loci, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    async def heard(message: Any) -> None:
        told.append(message)

    monkeypatch.setenv("LOCI_PROFILE", "reference-memory")
    with within(loci, "--namespace", namespace, heard=heard) as tools:
        assert tools.client.server_info is not None
        assert tools.client.server_info.name == "memory-server"
        tools.portal.call(tools.client.subscribe_resource, "memory://knowledge-graph")
        tools("create_entities", entities=[ADA])
        eventually(lambda: told)
        assert [(message.method, str(message.params.uri)) for message in told] == [
            ("notifications/resources/updated", "memory://knowledge-graph")
        ]
        listed = tools.listed()
        assert ("read_graph" in listed, "save_memory" in listed) == (True, False)


def test_an_unknown_profile_is_refused_with_those_there_are(loci: Loci) -> None:
    result = loci("mcp", "--profile", "mem0")
    assert result.exit_code == 2
    assert "reference-memory" in result.output
