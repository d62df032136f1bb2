"""What `loci serve` and `loci worker` promise as processes."""

import asyncio
import json
import signal
import socket
from unittest.mock import Mock

import httpx
import pytest

from service.cli.serve import expose_metrics, reached_at
from tests.cli.conftest import Ended, Loci, wait_until_ready
from tests.services import PATIENCE


def one_line(err: str) -> bool:
    lines = err.splitlines()
    return lines[0].startswith("error: ") and len(lines) <= 2 and "Traceback" not in err


def test_serve_refuses_a_host_that_is_not_loopback_without_keys(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    monkeypatch.setattr("service.cli.serve.resource.setrlimit", Mock())
    refused = loci("serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.exit_code == 1
    assert one_line(refused.stderr)
    assert "API keys" in refused.stderr
    assert refused.stdout == ""


def test_serve_refuses_a_superuser(loci: Loci, monkeypatch: pytest.MonkeyPatch, in_this_process: None) -> None:
    monkeypatch.setenv("DATABASE_URL", loci.database.admin_url)
    refused = loci("serve", "--port", "0")
    assert refused.exit_code == 1
    assert one_line(refused.stderr)
    assert "superuser" in refused.stderr


def test_serve_refuses_a_port_that_is_taken(loci: Loci, ended: Ended) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = ended(loci.start("serve", "--port", str(taken.getsockname()[1])))
    assert code == 1
    assert one_line(err)
    assert "Address already in use" in err


def test_serve_says_to_a_collector_of_logs_where_it_listens_in_lines_that_it_can_read(loci: Loci, ended: Ended, port: int) -> None:
    process = loci.start("serve", "--port", str(port))
    try:
        wait_until_ready(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    told = [json.loads(line) for line in err.splitlines()]
    assert {line["level"] for line in told} == {"INFO"}
    assert f"Loci listens on http://127.0.0.1:{port}" in [line["message"] for line in told]
    assert [reached_at(host) for host in ("0.0.0.0", "::", "::1", "10.0.0.7")] == ["127.0.0.1", "[::1]", "[::1]", "10.0.0.7"]


def test_serve_answers_says_what_to_try_and_ends_when_told(loci: Loci, ended: Ended, port: int) -> None:
    # At INFO, slow requests are told.
    process = loci.start_by_itself("serve", "--demo", "--port", str(port), LOCI_LOG_LEVEL="WARNING")
    try:
        answer = wait_until_ready(process, port)
        assert answer.json()["status"] == "ready"
        url = f"http://127.0.0.1:{port}/api/v1"
        answer = httpx.post(f"{url}/graph/traverse", json={"start": ["Alice"]}, timeout=PATIENCE)
        assert [edge["target"] for edge in answer.json()["edges"]][:2] == ["RockBot", "Bob"]
    finally:
        process.send_signal(signal.SIGINT)
    code, out, err = ended(process)
    assert code == 0
    assert err == ""
    assert len(out.splitlines()) <= 12
    assert out.count(f"curl -s -H 'content-type: application/json' {url}") >= 2


def test_worker_ends_when_told(loci: Loci, ended: Ended) -> None:
    process = loci.start_by_itself("worker")
    assert process.stderr is not None
    assert "working with static/wordllama-256" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0


def test_a_worker_shows_its_figures_where_it_is_told_to_listen() -> None:
    async def listening() -> str:
        server = await expose_metrics(Mock(), "127.0.0.2", 0, None)
        async with server:
            return str(server.sockets[0].getsockname()[0])

    assert asyncio.run(listening()) == "127.0.0.2"
