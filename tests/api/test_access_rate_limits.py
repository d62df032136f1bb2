"""Rate limits of keys over REST and MCP: shared by all processes, told in headers, and nothing for keys without one."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import ValidationError

from db.access.keys import Lease
from loci import LociClient, RateLimited
from service.access.admission import Gate
from service.access.key_usage import KeyUsageCounts
from service.access.rate_limits import LEASE_SECONDS, Limiter, WrongKeyLimiter
from service.http.allowed_hosts import Hosts
from service.http.caller import key_hash_of
from service.http.middleware import RequestMiddleware
from service.settings import Settings
from tests.api.clients import client_of
from tests.api.test_mcp import ACCEPT, INITIALIZE
from tests.clocks import instead
from tests.services import Api, Service, eventually, ok, problem, serve

HEADERS = ["ratelimit-policy", "ratelimit", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]


@pytest.fixture(scope="module")
def services(service: Service) -> Iterator[list[Service]]:
    """Two services with keys over the same database."""
    with service.client() as client:
        ok(client.post("/keys", json={"role": "reader"}), 201)
    with (
        serve(service.database, require_keys=True, worker=False) as first,
        serve(service.database, require_keys=True, worker=False) as second,
    ):
        yield [first, second]


def make_key(api: Api, **fields: Any) -> dict[str, Any]:
    return ok(api.post("/keys", fields), 201)


def holder(service: Service, key: dict[str, Any], **headers: str) -> httpx.Client:
    return service.client(Authorization=f"Bearer {key['key']}", **headers)


@pytest.mark.row("X9")
def test_two_services_share_one_limit(api: Api, services: list[Service]) -> None:
    key = make_key(api, rate_limit=50)
    started = time.monotonic()

    def ask(service: Service) -> list[int]:
        with holder(service, key) as client:
            return [client.get("/categories").status_code for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        statuses = [status for found in pool.map(ask, services * 2) for status in found]
    refilled = int((time.monotonic() - started) * 50 / 60) + 1
    assert set(statuses) == {200, 429}
    assert 50 <= statuses.count(200) <= 50 + refilled


def test_a_refusal_says_when_to_come_back(api: Api, services: list[Service]) -> None:
    key = make_key(api, rate_limit=2)
    with holder(services[0], key) as client:
        assert [client.get("/categories").status_code for _ in range(2)] == [200, 200]
        response = client.get("/categories")
    body = problem(response, 429, "rate-limited")
    assert "2 requests a minute" in body["detail"]
    assert 1 <= int(response.headers["retry-after"]) <= 30
    assert response.headers["x-request-id"] == body["request_id"]


def test_every_reply_of_a_limited_key_tells_its_limit(api: Api, services: list[Service]) -> None:
    key = make_key(api, rate_limit=10)
    started = time.monotonic()
    with holder(services[0], key) as client:
        replies = [client.get(path) for path in ("/categories", "/no-such-path", "/keys", "/memories?limit=x")]
    refilled = int((time.monotonic() - started) * 10 / 60)  # none, on a machine that makes four calls in six seconds
    assert [reply.status_code for reply in replies] == [200, 404, 403, 422]
    left = [int(reply.headers["x-ratelimit-remaining"]) for reply in replies]
    assert all(least <= said <= least + refilled for said, least in zip(left, (9, 8, 7, 6), strict=True)), left
    said = replies[-1].headers
    assert said["ratelimit-policy"] == '"key";q=10;w=60'
    assert said["ratelimit"].startswith(f'"key";r={left[-1]};t=')
    assert said["x-ratelimit-limit"] == "10"
    assert 0 < int(said["x-ratelimit-reset"]) - time.time() < 62


def test_a_key_without_a_limit_hears_of_none(api: Api, services: list[Service]) -> None:
    with holder(services[0], make_key(api)) as client:
        assert not set(HEADERS) & set(client.get("/categories").headers)


def test_the_limit_of_the_service_is_that_of_keys_without_one(api: Api, start_service: Callable[..., Service]) -> None:
    key = make_key(api)  # before a service that requires keys starts there must be one
    service = start_service(api.service.database, require_keys=True, worker=False, rate_limit=3)
    with holder(service, key) as client:
        assert [client.get("/categories").status_code for _ in range(4)] == [200, 200, 200, 429]
    with holder(service, make_key(api, rate_limit=5)) as client:
        assert client.get("/categories").headers["x-ratelimit-limit"] == "5"


def test_a_request_that_is_refused_for_its_body_counts(api: Api, services: list[Service]) -> None:
    key = make_key(api, rate_limit=1)
    with holder(services[0], key) as client:
        problem(client.post("/memories", content=b"{", headers={"content-type": "application/json"}), 422, "invalid-request")
        problem(client.post("/memories", json={"content": "x"}), 429, "rate-limited")


def test_a_call_of_a_tool_counts_once(api: Api, services: list[Service]) -> None:
    key = make_key(api, rate_limit=3)  # one more in twenty seconds
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "x"}},
    }
    with holder(services[0], key, **ACCEPT) as client:
        first = client.post("http://localhost/mcp", json=INITIALIZE)
        second = client.post("http://localhost/mcp", json=call)
    assert [reply.headers["x-ratelimit-remaining"] for reply in (first, second)] == ["2", "1"]


def test_a_new_limit_holds_once_it_is_looked_up_again(api: Api, services: list[Service], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.access.rate_limits.LIMIT_CACHE_SECONDS", 0.2)
    key = make_key(api)
    with holder(services[0], key) as client:
        ok(client.get("/categories"))
        assert ok(api.client.patch(f"/keys/{key['id']}", json={"rate_limit": 7}))["rate_limit"] == 7
        eventually(lambda: client.get("/categories").headers.get("x-ratelimit-limit") == "7")


class Hearing(httpx.HTTPTransport):
    """Remembers the status of every reply."""

    def __init__(self, service: Service) -> None:
        super().__init__(uds=str(service.socket), verify=False)
        self.statuses: list[int] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        self.statuses.append(response.status_code)
        return response


def test_the_client_waits_as_long_as_it_is_told(api: Api, services: list[Service]) -> None:
    key, heard = make_key(api, rate_limit=60), Hearing(services[0])
    with client_of(services[0], api.namespace, key=key["key"], retries=5, transport=heard) as client:
        while httpx.codes.TOO_MANY_REQUESTS not in heard.statuses:
            list(client.memories.list_categories())
    assert heard.statuses[-1] == httpx.codes.OK


def test_the_client_says_who_is_limited_when_it_may_not_wait(api: Api, services: list[Service]) -> None:
    def ask_on(client: LociClient) -> None:
        while True:
            list(client.memories.list_categories())

    key = make_key(api, rate_limit=1)
    with (
        client_of(services[0], api.namespace, key=key["key"], timeout=30) as client,
        pytest.raises(RateLimited, match="1 requests a minute"),
    ):
        ask_on(client)


def test_tokens_of_a_service_that_stops_return(api: Api, service: Service) -> None:
    key = make_key(api, rate_limit=6000)
    with serve(service.database, require_keys=True, worker=False) as running, holder(running, key) as client:
        ok(client.get("/categories"))
    with service.database.admin() as admin:
        row = admin.execute("select tokens from loci_data.rate_buckets where bucket = %s", [key["id"]]).fetchone()
    assert row is not None
    assert row[0] >= 5948


# Wrong keys, and wrong names of the host


class Gates:
    """A gate before nothing but a greeting, asked from any address."""

    def __init__(self, settings: Settings, limit: int | None = None, valid: str = "good") -> None:
        async def greet(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})

        async def ask(key_hash: bytes, wanted: int, returned: int) -> Lease | None:
            good = key_hash == key_hash_of(f"Bearer {valid}")
            return Lease(uuid4(), limit, wanted, 10, 0.0, 0.0, 0.0) if good else None

        self.uses = KeyUsageCounts(None)  # type: ignore[arg-type]
        guesses, by_address = WrongKeyLimiter(settings.wrong_keys), settings.trusted_proxies is not None
        gate = Gate(greet, Hosts(settings), Limiter(ask), guesses, self.uses, by_address=by_address)
        self._app: Any = RequestMiddleware(gate, settings.deadlines, settings.max_body_bytes)

    async def ask(
        self,
        key: str | None = None,
        address: str = "192.0.2.1",
        method: str = "GET",
        path: str = "/api/v1/memories",
        more: list[tuple[str, str]] | None = None,
        **headers: str,
    ) -> httpx.Response:
        """Send a request."""
        keyed = [("Authorization", f"Bearer {key}")] if key else []
        transport = httpx.ASGITransport(app=self._app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://loci") as client:
            return await client.request(method, path, headers=[*keyed, *headers.items(), *(more or [])])


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes for the limits, and little for who guesses."""
    now = time.monotonic()
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now))
    monkeypatch.setattr("service.access.admission.DELAY_SECONDS", 0.02)


@pytest.mark.anyio
@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("path", ["/api/v1/memories", "/mcp", "/mcp/reference-memory", "/mcp/claude-memory"])
async def test_a_caller_with_many_wrong_keys_of_one_beginning_is_told_to_wait(path: str) -> None:
    gates = Gates(Settings(_env_file=None, require_keys=True, wrong_keys=20))
    asked = [await gates.ask(f"loci_01234567_{n}", f"192.0.2.{n}", path=path) for n in range(22)]
    assert [one.status_code for one in asked] == [401] * 20 + [429] * 2
    problem(asked[-1], 429, "rate-limited")
    assert int(asked[-1].headers["retry-after"]) >= 1
    assert (await gates.ask("loci_76543210_0", path=path)).status_code == 401


@pytest.mark.anyio
@pytest.mark.usefixtures("still")
async def test_a_client_address_that_sends_many_wrong_keys_is_told_to_wait() -> None:
    gates = Gates(Settings(_env_file=None, require_keys=True, wrong_keys=20, trusted_proxies="none"))
    assert [(await gates.ask(f"loci_{n:08}_x")).status_code for n in range(22)] == [401] * 20 + [429] * 2
    assert (await gates.ask("wrong", "192.0.2.2")).status_code == 401  # others are not
    assert (await gates.ask("wrong", "2001:db8::1")).status_code == 401


@pytest.mark.row("X9")
@pytest.mark.anyio
@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("proxies", [None, "none", "192.0.2.0/24"])
@pytest.mark.parametrize("begins", ["loci_01234567_", "loci_{:08}_"])
async def test_a_valid_key_is_never_refused_for_the_guesses_of_others(proxies: str | None, begins: str) -> None:
    valid = "loci_01234567_valid"
    gates = Gates(Settings(_env_file=None, require_keys=True, wrong_keys=5, trusted_proxies=proxies), valid=valid)
    guesses = [(await gates.ask(f"{begins.format(n)}{n}")).status_code for n in range(30)]
    assert set(guesses) <= {401, 429}
    assert (await gates.ask(valid)).status_code == 200  # which nobody has used before, from the same address


@pytest.mark.anyio
async def test_while_many_wrong_keys_come_each_is_refused_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.access.admission.DELAY_SECONDS", 0.3)
    gates = Gates(Settings(_env_file=None, require_keys=True, wrong_keys=3))

    async def took(n: int) -> float:
        began = time.monotonic()
        assert (await gates.ask(f"loci_{n:08}_x")).status_code == 401
        return time.monotonic() - began

    assert max([await took(n) for n in range(3)]) < 0.3
    late = await asyncio.gather(*(took(n) for n in range(3, 23)))
    assert min(late) >= 0.3
    assert max(late) < 0.3 * 20  # side by side: nobody waits for another's delay


@pytest.mark.usefixtures("still")
def test_behind_a_proxy_many_wrong_keys_keep_out_no_key_that_was_not_used_yet(service: Service) -> None:
    with service.client() as client:
        keys = [ok(client.post("/keys", json={"role": "reader"}), 201)["key"] for _ in range(3)]
    with serve(service.database, require_keys=True, worker=False, wrong_keys=10) as behind:

        def asked(key: str) -> int:
            with behind.client(Authorization=f"Bearer {key}") as client:
                return client.get("/agents/me").status_code

        with ThreadPoolExecutor(16) as many:
            guesses = [*many.map(lambda n: asked(f"loci_wrong{n}"), range(60))]
            assert [*many.map(asked, keys)] == [200] * 3
        assert set(guesses) <= {401, 429}


@pytest.mark.usefixtures("still")
def test_only_trusted_proxies_are_believed_about_addresses(service: Service) -> None:
    wrong = {"Authorization": "Bearer loci_wrong"}
    found = {}
    for proxies in ("127.0.0.0/8", "192.0.2.1"):
        with (
            serve(service.database, tcp=True, require_keys=True, worker=False, wrong_keys=1, trusted_proxies=proxies) as behind,
            httpx.Client(base_url=f"{behind.url}/api/v1", headers=wrong) as client,
        ):
            found[proxies] = [
                client.get("/agents/me", headers={"X-Forwarded-For": address}).status_code
                for address in ("198.51.100.1", "198.51.100.2", "198.51.100.2", "9.9.9.9, 198.51.100.3, 127.0.0.9")
            ]
    assert found == {"127.0.0.0/8": [401, 401, 429, 401], "192.0.2.1": [401, 429, 429, 429]}


@pytest.mark.parametrize("stated", ["proxy.example", "10.0.0.0/33", "10.0.0.1/8", "127.0.0.1;10.0.0.1"])
def test_a_proxy_that_is_no_address_and_no_network_is_refused_at_the_start(stated: str) -> None:
    with pytest.raises(ValidationError, match="trusted_proxies"):
        Settings(_env_file=None, trusted_proxies=stated)


@pytest.mark.anyio
@pytest.mark.usefixtures("still")
async def test_addresses_of_one_network_are_one_guesser() -> None:
    gates = Gates(Settings(_env_file=None, require_keys=True, wrong_keys=1, trusted_proxies="none"))
    found = [(await gates.ask("wrong", address)).status_code for address in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")]
    assert found == [401, 429, 401]


@pytest.mark.row("REST")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:8420"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "127.8.8.8:1"}, 200),
        ({"Host": "[::1]:8420"}, 200),
        ({"Host": "friend.example:8420"}, 200),
        ({"Host": "LOCALHOST"}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "127.0.0.1.rebound.example"}, 421),
        ({"Host": "127.rebound.example.com"}, 421),
        ({"Host": "localhost@rebound.example"}, 421),
        ({"Host": "rebound.example@127.0.0.1"}, 421),
        ({"Host": "rebound.example:80@localhost"}, 421),
        ({"Host": "[rebound"}, 421),
        ({"Host": "localhost."}, 200),
        ({"Host": "Friend.Example.:8420"}, 200),
        ({"Host": "localhost.."}, 421),
        ({"Host": ".localhost"}, 421),
        ({"Host": "localhost:"}, 421),
        ({"Host": "localhost:65536"}, 421),
        ({"Host": "localhost:80:80"}, 421),
        ({"Host": "localhost:+80"}, 421),
        ({"Host": "localhost/"}, 421),
        ({"Host": "localhost/@rebound.example"}, 421),
        ({"Host": "localhost#.rebound.example"}, 421),
        ({"Host": "localhost\\@rebound.example"}, 421),
        ({"Host": "localhost%00.rebound.example"}, 421),
        ({"Host": "localhost, rebound.example"}, 421),
        ({"Host": "local host"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "127.1"}, 421),
        ({"Host": "2130706433"}, 421),
        ({"Host": "0x7f.0.0.1"}, 421),
        ({"Host": "127.0.0.01"}, 421),
        ({"Host": "127.0.0.1.1"}, 421),
        ({"Host": "128.0.0.1"}, 421),
        ({"Host": "0.0.0.0"}, 421),
        ({"Host": "[0:0:0:0:0:0:0:1]"}, 200),
        ({"Host": "::1"}, 421),
        ({"Host": "[::1%25lo]"}, 421),
        ({"Host": "[::1]rebound.example"}, 421),
        ({"Host": "[::2]"}, 421),
        ({"Host": "localhost", "Origin": "http://localhost:3000"}, 200),
        ({"Host": "localhost", "Origin": "https://friend.example"}, 200),
        ({"Host": "localhost", "Origin": "https://page.example"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403),
        ({"Host": "localhost", "Origin": ""}, 403),
        ({"Host": "localhost", "Origin": "localhost"}, 403),
        ({"Host": "localhost", "Origin": "file://localhost"}, 403),
        ({"Host": "localhost", "Origin": "https://page.example@localhost"}, 403),
        ({"Host": "localhost", "Origin": "https://localhost@page.example"}, 403),
        ({"Host": "localhost", "Origin": "https://localhost/"}, 403),
        ({"Host": "localhost", "Origin": "https://localhost.page.example"}, 403),
        ({"Host": "localhost", "Origin": "HTTPS://LOCALHOST:3000"}, 200),
        ({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ({"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Origin": "https://friend.example"}, 200),
        ({"Host": "localhost", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "localhost", "Sec-Fetch-Site": "none"}, 200),
    ],
    ids=str,
)
@pytest.mark.anyio
async def test_a_service_without_keys_answers_to_names_of_this_machine_alone(headers: dict[str, str], status: int) -> None:
    gates = Gates(Settings(_env_file=None, allowed_hosts="friend.example"))
    response = await gates.ask(**headers)
    assert response.status_code == status
    if status != 200:
        problem(response, status, "misdirected-request" if status == 421 else "forbidden")


@pytest.mark.parametrize("name", ["Host", "Origin"])
@pytest.mark.parametrize("second", ["localhost", "rebound.example"])
@pytest.mark.anyio
async def test_a_name_that_is_sent_twice_is_none(name: str, second: str) -> None:
    gates = Gates(Settings(_env_file=None))
    own = "localhost" if name == "Host" else "http://localhost"
    sent = [("Host", "localhost"), (name, own), (name, second)][name == "Host" :]
    assert (await gates.ask(more=sent)).status_code == (421 if name == "Host" else 403)


@pytest.mark.parametrize(
    ("method", "path", "dest", "status"),
    [("GET", "/docs", "document", 200), ("GET", "/", "document", 200), ("GET", "/docs", "iframe", 403),
     ("POST", "/docs", "document", 403), ("GET", "/openapi.json", "document", 403), ("GET", "/metrics", "document", 403)],
)  # fmt: skip
@pytest.mark.anyio
async def test_a_link_from_elsewhere_leads_to_the_documentation_alone(method: str, path: str, dest: str, status: int) -> None:
    gates = Gates(Settings(_env_file=None))
    headers = {"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": dest}
    assert (await gates.ask(method=method, path=path, **headers)).status_code == status


@pytest.mark.anyio
async def test_a_service_with_keys_answers_to_every_name() -> None:
    gates = Gates(Settings(_env_file=None, require_keys=True))
    headers = {"Host": "loci.example", "Origin": "https://page.example", "Sec-Fetch-Site": "cross-site"}
    assert (await gates.ask("good", **headers)).status_code == 200


@pytest.mark.parametrize(("origin", "status"), [(None, 200), ("https://page.example", 403), ("https://friend.example", 200)])
@pytest.mark.anyio
async def test_an_open_service_serves_no_pages_but_those_it_names(origin: str | None, status: int) -> None:
    gates = Gates(Settings(_env_file=None, host="0.0.0.0", require_keys=False, allowed_hosts="friend.example"))
    response = await gates.ask(Host="loci.example", **({"Origin": origin} if origin else {}))
    assert response.status_code == status


# The limiter alone


class Database:
    """A bucket, and who asked for it."""

    def __init__(self, limit: int | None, tokens: int) -> None:
        self.limit, self.tokens = limit, tokens
        self.asked: list[tuple[int, int]] = []

    async def ask(self, key_hash: bytes, wanted: int, returned: int) -> Lease | None:
        await asyncio.sleep(0)
        self.asked.append((wanted, returned))
        if key_hash == b"wrong":
            return None
        granted = min(self.tokens + returned, max(wanted, 5)) if wanted else 0
        self.tokens += returned - granted
        return Lease(uuid4(), self.limit, granted, self.tokens, 0.0 if self.tokens else 60.0, 60.0, time.time())


async def admitted(limiter: Limiter, times: int, key: bytes = b"key") -> int:
    found = await asyncio.gather(*(limiter.admit_key(key) for _ in range(times)))
    return sum(one is not None and one.wait is None for one in found)


@pytest.mark.anyio
async def test_requests_at_once_ask_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now))
    database = Database(100, 100)
    assert await admitted(Limiter(database.ask), 40) == 40
    assert len(database.asked) <= 2


@pytest.mark.anyio
async def test_never_more_requests_pass_than_were_granted() -> None:
    database = Database(100, 37)
    limiter = Limiter(database.ask)
    assert [await admitted(limiter, 20), await admitted(limiter, 30)] == [20, 17]


@pytest.mark.anyio
async def test_a_key_without_a_limit_is_looked_up_once_for_many_requests() -> None:
    database = Database(None, 0)
    limiter = Limiter(database.ask)
    assert await admitted(limiter, 1) + await admitted(limiter, 1000) == 1001
    assert len(database.asked) == 1


@pytest.mark.anyio
async def test_an_empty_bucket_is_not_asked_again_before_it_can_hold_something() -> None:
    database = Database(100, 0)
    limiter = Limiter(database.ask)
    assert await admitted(limiter, 1) + await admitted(limiter, 50) == 0
    assert len(database.asked) == 1


@pytest.mark.anyio
async def test_a_lease_that_is_too_old_is_given_back_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(600, 100)
    limiter = Limiter(database.ask)
    now = time.monotonic()
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now))
    assert await admitted(limiter, 1) == 1
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now + LEASE_SECONDS + 1))
    assert await admitted(limiter, 1) == 1
    assert database.asked == [(1, 0), (1, 4)]
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now + 2 * LEASE_SECONDS + 2))
    await limiter.give_back()
    assert database.asked[-1] == (0, 4)
    assert database.tokens == 98


@pytest.mark.anyio
async def test_a_wrong_key_is_remembered_nowhere() -> None:
    database = Database(None, 0)
    limiter = Limiter(database.ask)
    assert [await limiter.admit_key(b"wrong"), await limiter.admit_key(b"wrong")] == [None, None]
    assert not limiter.knows_key(b"wrong")
    assert len(database.asked) == 2


def test_an_address_may_guess_again_when_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses = WrongKeyLimiter(2)
    now = time.monotonic()
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now))
    for _ in range(3):
        assert guesses.seconds_to_wait("192.0.2.1") in {None, 30.0}
        guesses.count_wrong_key("192.0.2.1")
    assert guesses.seconds_to_wait("192.0.2.1") == pytest.approx(30.0)
    monkeypatch.setattr("service.access.rate_limits.time", instead(time, monotonic=lambda: now + 61))
    assert guesses.seconds_to_wait("192.0.2.1") is None


def test_nothing_that_a_service_without_keys_serves_answers_to_a_rebound_name_or_another_page(service: Service) -> None:
    paths = {path.replace("{", "").replace("}", "") for path in service.app.openapi()["paths"]}
    asked = sorted(paths | {"/", "/docs", "/openapi.json", "/metrics", "/mcp", "/memory", "/nowhere"} - {"/healthz", "/readyz"})
    rebound = {"Host": "rebound.example:8420"}
    elsewhere = {"Origin": "https://page.example", "Sec-Fetch-Site": "cross-site"}
    with service.client() as client:
        for headers, status in ((rebound, 421), ({**rebound, "Origin": "http://rebound.example:8420"}, 421), (elsewhere, 403)):
            for path in asked:
                for method in ("GET", "POST"):
                    reply = client.request(method, f"http://loci{path}", headers=headers, json={} if method == "POST" else None)
                    assert reply.status_code == status, (method, path, headers, reply.text)
