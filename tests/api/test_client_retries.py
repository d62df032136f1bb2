"""What the client does when a request fails: again, how long, and never twice in the database."""

import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest

from loci import AsyncLociClient, Invalid, LociClient, LociError, NotFound, RateLimited, TimedOut, Unauthorized, Unavailable
from tests.api.clients import async_client_of, client_of
from tests.clocks import instead
from tests.services import PATIENCE, Api

Step = httpx.Response | type[httpx.TransportError]
HEALTHY = {"status": "ok"}
COUNT = {"touched": 1}


def reply(status: int, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body if body is not None else {"detail": f"no: {status}"}, headers=headers)


class Script:
    """A service that does what it is told, and remembers what it was sent; sleeping takes no time."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []
        self.now = 0.0

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, httpx.Response):
            return step
        raise step("it failed", request=request)

    def client(self, **options: Any) -> LociClient:
        return LociClient("http://loci", transport=httpx.MockTransport(self.answer), **options)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Script]:
    def start(*steps: Step) -> Script:
        made = Script(*steps)

        async def asleep(seconds: float) -> None:
            made.sleep(seconds)

        monkeypatch.setattr("loci.client.time", instead(time, sleep=made.sleep))
        monkeypatch.setattr("loci.client.anyio", instead(anyio, sleep=asleep))
        monkeypatch.setattr("loci.attempts.time", instead(time, monotonic=lambda: made.now))
        return made

    return start


LOST = [httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadTimeout, httpx.PoolTimeout]
BUSY = [502, 503, 504, 429]


@pytest.mark.parametrize("failure", [*LOST, *BUSY])
@pytest.mark.parametrize(
    "call", [lambda c: c.server.health(), lambda c: c.graph.touch_entities([UUID(int=1)])], ids=["read", "write"]
)
def test_a_passing_failure_is_sent_again(script: Callable[..., Script], failure: Any, call: Callable[[LociClient], Any]) -> None:
    good = reply(200, {**HEALTHY, **COUNT})
    service = script(failure if isinstance(failure, type) else reply(failure), good)
    assert call(service.client())
    assert len(service.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 415, 422, 500])
def test_a_permanent_failure_is_sent_once(script: Callable[..., Script], status: int) -> None:
    service = script(reply(status))
    with pytest.raises(LociError) as raised:
        service.client().server.health()
    assert raised.value.status == status
    assert len(service.requests) == 1


def test_all_attempts_of_a_write_carry_the_same_key_and_other_writes_another(script: Callable[..., Script]) -> None:
    service = script(reply(503), httpx.ReadError, reply(200, COUNT), reply(200, COUNT))
    client = service.client()
    client.graph.touch_entities([UUID(int=1)])
    client.graph.touch_entities([UUID(int=1)])
    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_a_caller_may_name_the_key(script: Callable[..., Script]) -> None:
    service = script(reply(200, COUNT))
    service.client().once("mine").graph.touch_entities([])
    assert service.requests[0].headers["Idempotency-Key"] == "mine"


def test_a_read_carries_no_key(script: Callable[..., Script]) -> None:
    service = script(reply(200, HEALTHY))
    service.client().server.health()
    assert "Idempotency-Key" not in service.requests[0].headers


def test_an_unrepeatable_call_is_sent_again_only_if_it_never_left(script: Callable[..., Script]) -> None:
    made = {"id": str(UUID(int=1)), "agent_id": str(UUID(int=2)), "name": "k", "role": "reader", "key": "loci_…"}
    made |= {"created_at": "2026-01-01T00:00:00Z", "scope": "admin"}
    made |= dict.fromkeys(
        [
            "expires_at",
            "revoked_at",
            "last_used_at",
            "replaced_by",
            "namespaces",
            "rate_limit",
            "default_namespace",
            "space",
            "user",
            "time_zone",
        ]
    )
    service = script(httpx.ConnectError, reply(429), reply(201, made))  # too many: it was not looked at
    assert service.client().access.create_key().name == "k"
    service = script(httpx.ReadError)
    with pytest.raises(Unavailable):
        service.client().access.create_key()
    service = script(reply(503))
    with pytest.raises(Unavailable):
        service.client().access.create_key()


def test_an_import_that_cannot_be_read_twice_is_sent_once(script: Callable[..., Script]) -> None:
    service = script(httpx.ReadError)
    with pytest.raises(Unavailable):
        service.client().transfer.import_namespace("x", iter([b"{}"]))
    assert len(service.requests) == 1
    service = script(reply(429))
    with pytest.raises(RateLimited):
        service.client().transfer.import_namespace("x", iter([b"{}"]))


def test_no_text_of_an_error_or_of_a_client_holds_the_key(script: Callable[..., Script]) -> None:
    service = script(reply(401))
    client = service.client(key="loci_1_secret")
    with pytest.raises(Unauthorized) as raised:
        client.server.health()
    told = "".join(traceback.format_exception(raised.value)) + repr(raised.value) + repr(client) + repr(client._options)
    assert "secret" not in told


def test_retries_end(script: Callable[..., Script]) -> None:
    service = script(*[reply(503)] * 4)
    with pytest.raises(Unavailable) as raised:
        service.client(retries=3).server.health()
    assert (raised.value.status, service.steps) == (503, [])
    service = script(httpx.ConnectError)
    with pytest.raises(Unavailable, match="cannot be reached"):
        service.client(retries=0).server.health()


def test_pauses_grow_and_are_jittered(script: Callable[..., Script]) -> None:
    service = script(*[reply(503)] * 5, reply(200, HEALTHY))
    service.client(retries=5).server.health()
    bounds = [0.1, 0.2, 0.4, 0.8, 1.6]
    assert all(bound / 2 <= slept <= bound for slept, bound in zip(service.slept, bounds, strict=True))
    assert service.slept != bounds


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 10),
        (lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=1000), usegmt=True), 1000 - PATIENCE, 1003),
        ("soon", 0, 3),
    ],
)
def test_a_service_that_asks_for_a_pause_gets_it(script: Callable[..., Script], asked: Any, least: float, most: float) -> None:
    header = asked if isinstance(asked, str) else asked()
    service = script(reply(429, **{"Retry-After": header}), reply(200, HEALTHY))
    service.client(timeout=None).server.health()
    assert least <= service.slept[0] <= most


def test_a_pause_that_does_not_fit_is_not_waited_for(script: Callable[..., Script]) -> None:
    service = script(reply(429, **{"Retry-After": "60"}))
    with pytest.raises(RateLimited):
        service.client(timeout=30).server.health()
    assert service.slept == []


def test_attempts_share_the_time_of_a_call(script: Callable[..., Script]) -> None:
    service = script(reply(503, **{"Retry-After": "4"}), reply(503, **{"Retry-After": "4"}), reply(503, **{"Retry-After": "4"}))
    with pytest.raises(Unavailable):
        service.client(timeout=10).server.health()
    assert [request.extensions["timeout"]["read"] for request in service.requests] == pytest.approx([10, 6, 2], abs=0.5)
    assert service.requests[0].extensions["timeout"]["connect"] == 5


def test_a_call_without_a_limit_waits_as_long_as_it_takes(script: Callable[..., Script]) -> None:
    service = script(reply(200, HEALTHY))
    service.client().within(None).server.health()
    assert service.requests[0].extensions["timeout"]["read"] is None


def test_no_reply_in_time_is_told_as_that(script: Callable[..., Script]) -> None:
    service = script(httpx.ReadTimeout)
    with pytest.raises(TimedOut) as raised:
        service.client(retries=0).server.health()
    assert raised.value.status is None


def test_a_deletion_that_was_done_before_its_reply_was_lost_is_done(script: Callable[..., Script]) -> None:
    service = script(httpx.ReadError, reply(404))
    service.client().namespaces.delete("x")
    service = script(reply(404))
    with pytest.raises(NotFound):
        service.client().namespaces.delete("x")
    service = script(httpx.ConnectError, reply(404))
    with pytest.raises(NotFound):
        service.client().namespaces.delete("x")


def test_a_page_of_a_proxy_is_an_error_too(script: Callable[..., Script]) -> None:
    service = script(httpx.Response(418, text="<html>", headers={"X-Request-Id": "r"}))
    with pytest.raises(LociError, match="418") as raised:
        service.client().server.health()
    assert raised.value.request_id == "r"


def test_an_error_reads_as_a_sentence_with_its_fields_and_its_hint(script: Callable[..., Script]) -> None:
    body = {
        "detail": "2 items are wrong",
        "errors": [{"field": "items[1].layer", "message": "must be 0 to 3"}],
        "hint": "See /docs.",
    }
    service = script(reply(422, body))
    with pytest.raises(Invalid) as raised:
        service.client().server.health()
    assert str(raised.value) == "2 items are wrong; items[1].layer: must be 0 to 3 (See /docs.)"


def test_a_client_uses_the_environment(script: Callable[..., Script], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_URL", "http://elsewhere:1")
    monkeypatch.setenv("LOCI_KEY", "k")
    monkeypatch.setenv("LOCI_NAMESPACE", "team")
    service = script(reply(200, HEALTHY), reply(200, HEALTHY))
    client = LociClient(transport=httpx.MockTransport(service.answer), space="agent/a")
    client.server.health()
    client.in_namespace("other").in_space("agent/b").server.health()
    first, second = service.requests
    assert (first.url, first.headers["Authorization"]) == ("http://elsewhere:1/healthz", "Bearer k")
    assert (first.headers["X-Namespace"], second.headers["X-Namespace"]) == ("team", "other")
    assert (first.headers["X-Space"], second.headers["X-Space"]) == ("agent/a", "agent/b")


@pytest.mark.parametrize("name", ["a/b", "..", "ä ö", "50%", "?x=1#y", "."])
def test_names_are_escaped_in_paths(script: Callable[..., Script], name: str) -> None:
    service = script(reply(404))
    with pytest.raises(NotFound):
        service.client().graph.get_entity(name)
    path = service.requests[0].url.raw_path.decode()
    assert path.startswith("/api/v1/entities/")
    assert path.count("/") == 4
    assert service.requests[0].url.path == f"/api/v1/entities/{name}"


@pytest.mark.anyio
async def test_the_asynchronous_client_does_the_same(script: Callable[..., Script]) -> None:
    service = script(reply(503), httpx.ReadError, reply(200, COUNT), httpx.ConnectError)
    async with AsyncLociClient("http://loci", transport=httpx.MockTransport(service.answer), retries=2) as client:
        assert (await client.graph.touch_entities([])).touched == 1
        assert len({request.headers["Idempotency-Key"] for request in service.requests}) == 1
        with pytest.raises(Unavailable):
            await client._with(retries=0).server.health()


# A real service


class Dropping(httpx.HTTPTransport):
    """A connection that breaks when the reply comes, some times: what was asked for has been done."""

    def __init__(self, socket: str, times: int) -> None:
        super().__init__(uds=socket)
        self.left = times

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.left:
            self.left -= 1
            response.read()
            raise httpx.ReadError("the connection was reset", request=request)
        return response


class AsyncDropping(httpx.AsyncHTTPTransport):
    """The same for the asynchronous client."""

    def __init__(self, socket: str, times: int) -> None:
        super().__init__(uds=socket)
        self.left = times

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if self.left:
            self.left -= 1
            await response.aread()
            raise httpx.ReadError("the connection was reset", request=request)
        return response


@pytest.fixture
def dropping(api: Api) -> Iterator[LociClient]:
    with client_of(api.service, api.namespace, transport=Dropping(str(api.service.socket), 2)) as client:
        yield client


EPISODE = {"content": "it rained", "layer": 3}  # never folded into an equal one


def test_a_write_whose_reply_is_lost_is_done_exactly_once(dropping: LociClient) -> None:
    written = dropping.memories.write(**EPISODE)  # type: ignore[arg-type]  # mypy takes the values for one type
    assert not written.duplicate
    assert [(m.id, m.observations) for m in dropping.memories.list(all_versions=True)] == [(written.id, 1)]


def test_a_batch_whose_reply_is_lost_is_written_exactly_once(dropping: LociClient) -> None:
    ids = [result.id for result in dropping.memories.write_many([EPISODE] * 5, size=2)]
    assert {m.id for m in dropping.memories.list()} == set(ids)


def test_a_change_and_a_deletion_whose_replies_are_lost_are_told_as_done(api: Api) -> None:
    with client_of(api.service, api.namespace) as client:
        edge = client.graph.observe_edge("Alice", "knows", "Bob")
        one, two = client.memories.write("one"), client.memories.write("two")
        client.memories.link(one.id, two.id)
    with client_of(api.service, api.namespace, transport=Dropping(str(api.service.socket), 1)) as client:
        assert client.graph.delete_edge(edge.id).superseded_at is not None
    with client_of(api.service, api.namespace, transport=Dropping(str(api.service.socket), 1)) as client:
        assert client.memories.unlink(one.id, two.id).target_id == two.id
    with client_of(api.service, api.namespace, transport=Dropping(str(api.service.socket), 1)) as client:
        assert client.memories.write("three", lineage="three").version == 1


def test_a_file_whose_reply_is_lost_is_imported_once(api: Api, tmp_path: Any) -> None:
    with client_of(api.service, api.namespace) as client:
        client.memories.write("one")
        file = tmp_path / "export.jsonl"
        file.write_bytes(b"".join(client.transfer.export_namespace(api.namespace)))
    with client_of(api.service, api.namespace, transport=Dropping(str(api.service.socket), 1)) as client:
        assert client.transfer.import_namespace(f"{api.namespace}-copy", file).unchanged["memory"] == 1


@pytest.fixture
async def adropping(api: Api) -> AsyncIterator[AsyncLociClient]:
    async with async_client_of(api.service, api.namespace, transport=AsyncDropping(str(api.service.socket), 2)) as client:
        yield client


@pytest.mark.anyio
async def test_an_asynchronous_write_whose_reply_is_lost_is_done_exactly_once(adropping: AsyncLociClient) -> None:
    written = await adropping.memories.write("it rained", layer=3)
    assert [m.id async for m in adropping.memories.list(all_versions=True)] == [written.id]
