"""What `loci serve` and `loci worker` promise as processes."""

import signal
import socket
import subprocess
from collections.abc import Callable

import httpx
import pytest

from tests.cli.conftest import Loci, wait_until_ready

Ended = Callable[[subprocess.Popen[str]], tuple[int, str, str]]


def one_line(err: str) -> bool:
    lines = err.splitlines()
    return lines[0].startswith("error: ") and len(lines) <= 2 and "Traceback" not in err


def test_serve_refuses_a_host_that_is_not_loopback_without_keys(loci: Loci, ended: Ended) -> None:
    code, out, err = ended(loci.start("serve", "--host", "0.0.0.0", "--port", "0"))
    assert code == 1
    assert one_line(err)
    assert "API keys" in err
    assert out == ""


def test_serve_refuses_a_superuser(loci: Loci, ended: Ended) -> None:
    code, _, err = ended(loci.start("serve", "--port", "0", DATABASE_URL=loci.database.admin_url))
    assert code == 1
    assert one_line(err)
    assert "superuser" in err


def test_serve_refuses_a_port_that_is_taken(loci: Loci, ended: Ended) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = ended(loci.start("serve", "--port", str(taken.getsockname()[1])))
    assert code == 1
    assert one_line(err)
    assert "Address already in use" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_says_what_to_try_and_ends_when_told(loci: Loci, ended: Ended, port: int, number: signal.Signals) -> None:
    process = loci.start("serve", "--demo", "--port", str(port), LOCI_LOG_LEVEL="WARNING")  # at INFO, slow requests are told
    try:
        answer = wait_until_ready(process, port)
        assert answer.json()["status"] == "ready"
        url = f"http://127.0.0.1:{port}/api/v1"
        answer = httpx.post(f"{url}/graph/traverse", json={"start": ["Alice"]})
        assert [edge["target"] for edge in answer.json()["edges"]][:2] == ["RockBot", "Bob"]
    finally:
        process.send_signal(number)
    code, out, err = ended(process)
    assert code == 0
    assert err == ""
    assert len(out.splitlines()) <= 12
    assert out.count(f"curl -s -H 'content-type: application/json' {url}") >= 2


def test_worker_ends_when_told(loci: Loci, ended: Ended) -> None:
    process = loci.start("worker")
    assert process.stderr is not None
    assert "working with static/wordllama-256" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0
