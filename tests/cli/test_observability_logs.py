"""What logs promise: one event a line, with the request that it belongs to, at a level worth reading, and nothing that anybody has said."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel, ValidationError

from service.observability.logs import (
    LIBRARIES,
    Format,
    Lines,
    LogContext,
    described_error,
    format_stack,
    log_context,
    set_up_logging,
)
from tests.catalogue import PYTHONPATH, ROOT
from tests.databases import Database
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok

Row = dict[str, Any]
SECRET = "xylophone"
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Log:
    """What was logged, as a service writes it."""

    def __init__(self, *, json: bool = True) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(Lines(json=json))

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def rows(self, **fields: Any) -> list[Row]:
        """Lines with these fields."""
        found = [json.loads(line) for line in self.text.splitlines()]
        return [row for row in found if fields.items() <= row.items()]

    def requests(self, count: int, **fields: Any) -> list[Row]:
        """Lines of so many requests: each is said when its reply was sent, so whoever has the reply may be before it."""
        eventually(lambda: len(self.rows(logger="service.requests", **fields)) >= count)
        return self.rows(logger="service.requests", **fields)


@pytest.fixture
def log() -> Iterator[Log]:
    """All lines of this process, as JSON, from DEBUG on."""
    made, root = Log(), logging.getLogger()
    level = root.level
    levels = {name: logging.getLogger(name).level for name in LIBRARIES}
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    root.addHandler(made.handler)
    root.setLevel(logging.DEBUG)
    yield made
    root.removeHandler(made.handler)
    root.setLevel(level)
    for name, kept in levels.items():
        logging.getLogger(name).setLevel(kept)


def line(message: str, *arguments: object, json_lines: bool = True, error: BaseException | None = None) -> str:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, message, arguments, (type(error), error, None) if error else None)
    return Lines(json=json_lines).format(record)


def test_a_request_is_one_line_with_what_it_was_and_who_asked(api: Api, log: Log) -> None:
    made = api.client.post(
        "/memories", json={"content": "x"}, headers={"X-Request-Id": "r-1", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    )
    ok(made, 201)
    (row,) = log.requests(1, request_id="r-1")
    assert row.pop("time").endswith("Z")
    level = "INFO" if (took := row.pop("ms")) > 1000 else "DEBUG"  # a slow one is worth a line
    assert took > 0
    assert row.pop("message").startswith("POST /api/v1/memories 201 in ")
    assert row == {
        "level": level,
        "logger": "service.requests",
        "request_id": "r-1",
        "trace_id": TRACE,
        "method": "POST",
        "route": "/api/v1/memories",
        "status": 201,
        "namespace": api.namespace,
        "agent_id": "00000000-0000-0000-0000-000000000000",
        "operation_id": made.headers["x-operation-id"],
    }


def test_a_refused_request_is_logged_at_info_and_others_are_not(api: Api, log: Log) -> None:
    ok(api.get("/memories"))
    assert api.get("/memories/nothing").status_code >= 400
    assert {row["level"] for row in log.requests(1, method="GET", status=200) if row["ms"] < 1000} <= {"DEBUG"}
    assert {row["level"] for row in log.requests(1, method="GET", status=404)} == {"INFO"}


@pytest.fixture
def broken(start_service: Callable[..., Service]) -> Iterator[tuple[Api, Callable[[Exception], None]]]:
    """A service with a route that fails with what it is told."""
    service = start_service(worker=False)
    errors: list[Exception] = []

    @service.app.get("/api/v1/broken")
    async def fail() -> None:
        logging.getLogger("db.deep").info("about to fail")
        raise errors[-1]

    with new_api(service) as api:
        yield api, errors.append


def test_a_bug_is_logged_with_its_stack_and_every_line_has_the_id_of_the_request(
    broken: tuple[Api, Callable[[Exception], None]], log: Log
) -> None:
    api, fails = broken
    fails(RuntimeError("the wheel came off"))
    answer = api.client.get("/broken")
    assert answer.status_code == 500
    assert log.requests(1, status=500)[0]["level"] == "WARNING"
    mine = log.rows(request_id=answer.headers["x-request-id"])
    assert {row["logger"] for row in mine} >= {"db.deep", "service.http.problems", "service.requests"}
    (bug,) = log.rows(logger="service.http.problems")
    assert "in fail" in bug["error"]
    assert bug["error"].endswith("RuntimeError: the wheel came off")


def test_errors_that_may_quote_what_they_were_given_are_named_and_not_quoted(
    broken: tuple[Api, Callable[[Exception], None]], log: Log, own_database: Database
) -> None:
    class Model(BaseModel):
        number: int

    api, fails = broken
    with own_database.admin() as admin, pytest.raises(psycopg.Error) as refused:
        admin.execute("select (%s::text)::integer", [SECRET])
    with pytest.raises(ValidationError) as invalid:
        Model(number=SECRET)  # type: ignore[arg-type]
    assert SECRET in str(refused.value)
    assert SECRET in str(invalid.value)
    for error in (refused.value, invalid.value):
        assert SECRET not in described_error(error)
        outer = RuntimeError("outer")
        outer.__cause__ = error
        assert SECRET not in format_stack(outer)
        assert format_stack(outer).endswith("RuntimeError: outer")
    assert described_error(refused.value) == "InvalidTextRepresentation: 22P02"
    fails(invalid.value)
    assert api.client.get("/broken").status_code == 500
    assert SECRET not in log.text


def test_no_key_and_no_text_of_a_memory_is_logged(api: Api, log: Log) -> None:
    key = ok(api.post("/keys", {"name": "logger", "role": "writer"}), 201)["key"]
    headers = {"Authorization": f"Bearer {key}"}
    api.client.post(
        "/memories", json={"content": f"the {SECRET} is red", "lineage": SECRET, "entities": [{"name": SECRET}]}, headers=headers
    )
    api.client.get(f"/memories/{SECRET}/history", headers=headers)
    api.client.post("/recall", json={"query": f"which {SECRET}?"}, headers=headers)
    api.client.post("/memories", json={"content": SECRET, "corrects": SECRET}, headers=headers)
    api.client.get(f"/working-memory/{SECRET}/{SECRET}", headers=headers)
    api.client.get("/memories", headers={"Authorization": f"Bearer {key}x"})
    log.requests(1, status=401)  # the last
    log.requests(3, method="POST", namespace=api.namespace)
    assert SECRET not in log.text
    assert key.split("_", 2)[2] not in log.text


def test_lines_of_background_work_say_which(log: Log) -> None:
    with log_context(LogContext(work="vectors")):
        logging.getLogger("service.worker").warning("waits")
    assert log.rows(work="vectors", message="waits")
    logging.getLogger("service.worker").warning("outside")
    assert "work" not in log.rows(message="outside")[0]


@pytest.mark.parametrize("json_lines", [True, False])
def test_one_event_is_one_line(json_lines: bool) -> None:
    assert len(line("one\ntwo %s", "three\nfour", json_lines=json_lines).splitlines()) == 1


def test_text_has_the_fields_behind_the_message() -> None:
    with log_context(LogContext(request_id="r-2")):
        assert line("done", json_lines=False).endswith(" INFO x done request_id=r-2")


@pytest.fixture
def anew() -> Iterator[None]:
    """Whatever the test sets up to log is undone."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    levels = {name: logging.getLogger(name).level for name in LIBRARIES}
    root.handlers.clear()  # those of others stay open
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, kept in levels.items():
        logging.getLogger(name).setLevel(kept)


@pytest.mark.parametrize(("form", "reads"), [("json", True), ("auto", True), ("text", False)])
def test_away_from_a_terminal_lines_are_json_unless_text_is_asked_for(
    anew: None, monkeypatch: pytest.MonkeyPatch, form: Format, reads: bool
) -> None:
    monkeypatch.setattr("sys.stderr", written := io.StringIO())
    set_up_logging("INFO", form)
    logging.getLogger("x").info("hello")
    assert (written.getvalue().startswith("{") and json.loads(written.getvalue())["message"] == "hello") is reads
    assert "hello" in written.getvalue()


def test_a_log_line_goes_to_the_stderr_of_its_moment(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", gone := io.StringIO())
        set_up_logging("INFO", "json")
        gone.close()
    monkeypatch.setattr("sys.stderr", here := io.StringIO())
    logging.getLogger("x").info("hello")
    assert [json.loads(row)["message"] for row in here.getvalue().splitlines()] == ["hello"]


UNDER_UVICORN = """
import logging, uvicorn
from service.observability.logs import set_up_logging
uvicorn.Config("x")
set_up_logging("INFO", "json")
try:
    int("xylophone", 0)
except ValueError:
    logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
logging.getLogger("uvicorn.access").info("GET /memory/search?q=xylophone")
assert not logging.getLogger("uvicorn.access").hasHandlers()
"""


def test_under_uvicorn_its_own_lines_are_ours_and_none_has_a_query_string() -> None:
    done = subprocess.run([sys.executable, "-c", UNDER_UVICORN], capture_output=True, text=True, check=True, cwd=ROOT)
    (row,) = [json.loads(line) for line in done.stderr.splitlines()]
    assert row["message"] == "Exception in ASGI application"
    assert done.stdout == ""


GUARD = """
import asyncio, socket, sys
said = []
def audit(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        said.append(arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[:1])
sys.addaudithook(audit)

import httpx
from service.app import from_environment

async def use():
    app = from_environment()
    async with app.router.lifespan_context(app):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost/api/v1") as client:
            for _ in range(2):
                assert (await client.post("/memories", json={"content": "Alice knows Bob", "entities": [{"name": "Alice"}]})).status_code == 201
            assert (await client.post("/recall", json={"query": "whom does Alice know?"})).json()["results"]
            assert (await client.post("/context", json={"message": "Alice"})).status_code == 200
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            accept = {"accept": "application/json, text/event-stream"}
            assert (await client.post("http://localhost/mcp", json=call, headers=accept)).status_code == 200
            assert (await client.get("http://localhost/metrics")).status_code == 200
            while (left := (await client.get("/namespaces/default")).json())["pending_embeddings"] or left["pending_names"]:
                await asyncio.sleep(0.05)

asyncio.run(use())
with socket.socket() as probe:
    probe.connect_ex(("127.0.0.1", 9))
print(*sorted({repr(address) for address in said}), sep="\\n")
"""


def test_a_service_with_default_settings_speaks_to_nobody_but_its_database(own_database: Database) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "OTEL_"))}
    environment = {**kept, "DATABASE_URL": own_database.app_url, "PYTHONPATH": PYTHONPATH, "LOCI_LOG_LEVEL": "WARNING"}
    done = subprocess.run(
        [sys.executable, "-c", GUARD], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["('127.0.0.1', 9)"]  # only what the program does itself, to show that the guard sees it
