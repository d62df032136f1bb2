"""Sessions of browsers: a cookie stands for a key, may do no more than it, ends with it, and is for pages of this origin."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from service.http.caller import hash_key
from service.http.session_cookie import foreign_use, hash_token, set_cookie
from tests.services import Row, Service, eventually, new_api, ok, problem, serve

COOKIE = "loci_session"
SAME = {"Sec-Fetch-Site": "same-origin"}
KEY = "/session"


@pytest.fixture(scope="module")
def keyed(service: Service) -> Iterator[Service]:
    """A service that asks for keys."""
    with new_api(service) as api:  # it does not start over a database without any
        make_key(api)
    with serve(service.database, worker=False, require_keys=True) as running:
        yield running


@pytest.fixture
def browser(keyed: Service) -> Iterator[httpx.Client]:
    with keyed.client(**SAME) as client:
        yield client


@pytest.fixture
def home(service: Service) -> Iterator[Any]:
    """A namespace, as the operator sees it."""
    with new_api(service) as api:
        yield api


def make_key(home: Any, **wanted: Any) -> Row:
    made: Row = ok(home.post("/keys", {"name": "browser", "role": "writer", **wanted}), 201)
    return made


def sign_in(browser: httpx.Client, key: str) -> httpx.Response:
    reply = browser.post(KEY, headers={"Authorization": f"Bearer {key}"})
    ok(reply, 201)
    return reply


def me(browser: httpx.Client) -> httpx.Response:
    return browser.get("/agents/me")


def test_a_key_is_exchanged_for_a_cookie_that_no_script_reads(home: Any, browser: httpx.Client) -> None:
    key = make_key(home)
    reply = sign_in(browser, key["key"])
    cookie = reply.headers["set-cookie"]
    assert re.fullmatch(r"loci_session=[\w-]{43}; Max-Age=\d+; HttpOnly; SameSite=Strict", cookie)
    assert key["key"] not in reply.text + cookie
    assert ok(me(browser))["key_id"] == key["id"]
    with home.service.database.admin() as admin:
        token = browser.cookies[COOKIE]
        stored = admin.execute("select hash from loci_data.browser_sessions where key_id = %s", [key["id"]]).fetchall()
    assert stored == [(hash_token(token),)]


def test_over_https_the_cookie_is_for_https_alone() -> None:
    assert set_cookie("x", seconds=60, secure=True).endswith("; Secure")


def test_a_session_may_do_what_its_key_may_and_no_more(home: Any, browser: httpx.Client) -> None:
    sign_in(browser, make_key(home, scope="read")["key"])
    ok(browser.get("/memories"))
    problem(browser.post("/memories", json={"content": "A reader writes."}), 403, "forbidden")
    problem(browser.get("/memories", headers={"X-Namespace": "another"}), 403, "forbidden")


def test_a_session_ends_with_its_key(home: Any, browser: httpx.Client) -> None:
    key = make_key(home)
    sign_in(browser, key["key"])
    ok(me(browser))
    assert home.client.delete(f"/keys/{key['id']}").status_code == 204
    problem(me(browser), 401, "unauthorized")


def test_a_session_never_lasts_longer_than_its_key(home: Any, browser: httpx.Client) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    key = make_key(home, expires_at=soon.isoformat())
    reply = sign_in(browser, key["key"])
    assert int(re.search(r"Max-Age=(\d+)", reply.headers["set-cookie"])[1]) <= 3600  # type: ignore[index]
    browser.cookies = httpx.Cookies({COOKIE: re.search(r"loci_session=([\w-]+)", reply.headers["set-cookie"])[1]})  # type: ignore[index]
    ok(me(browser))
    with home.service.database.admin() as admin:
        ends = admin.execute("select expires_at from loci_data.browser_sessions where key_id = %s", [key["id"]]).fetchall()
        assert ends == [(soon,)]
        admin.execute("update loci_data.api_keys set expires_at = clock_timestamp() where id = %s", [key["id"]])
    eventually(lambda: me(browser).status_code == 401)


def test_a_session_has_an_end_of_its_own(home: Any, service: Service) -> None:
    key = make_key(home)["key"]
    with serve(service.database, worker=False, require_keys=True, session_seconds=0.05) as brief, brief.client(**SAME) as client:
        token = re.search(r"loci_session=([\w-]+)", sign_in(client, key).headers["set-cookie"])[1]  # type: ignore[index]
        client.cookies = httpx.Cookies({COOKIE: token})
        eventually(lambda: me(client).status_code == 401)
        ok(client.get("/agents/me", headers={"Authorization": f"Bearer {key}"}))


def test_a_session_begins_with_a_key_and_with_no_other_session(home: Any, browser: httpx.Client) -> None:
    problem(browser.post(KEY), 401, "unauthorized")
    problem(browser.post(KEY, headers={"Authorization": "Bearer wrong"}), 401, "unauthorized")
    sign_in(browser, make_key(home)["key"])
    problem(browser.post(KEY), 401, "unauthorized")


def test_the_token_of_a_session_is_no_key(home: Any, browser: httpx.Client, keyed: Service) -> None:
    sign_in(browser, make_key(home)["key"])
    token = browser.cookies[COOKIE]
    with keyed.client() as other:
        problem(other.get("/agents/me", headers={"Authorization": f"Bearer {token}"}), 401, "unauthorized")
        problem(other.get("/agents/me", headers={"Cookie": f"{COOKIE}={'x' * 43}"}), 401, "unauthorized")


def test_a_guest_that_leaves_loses_its_sessions(home: Any, browser: httpx.Client) -> None:
    sign_in(browser, make_key(home)["key"])
    token = browser.cookies[COOKIE]
    reply = browser.delete(KEY)
    assert (reply.status_code, "Max-Age=0" in reply.headers["set-cookie"]) == (204, True)
    browser.cookies = httpx.Cookies({COOKIE: token})
    problem(me(browser), 401, "unauthorized")
    assert browser.delete(KEY).status_code == 204  # leaving twice, or with a session that has ended, is no fault


@pytest.mark.parametrize(
    ("headers", "read", "written"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200, 201),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://loci"}, 200, 201),
        ({"Sec-Fetch-Site": "none"}, 200, 403),  # an address that somebody typed
        ({"Sec-Fetch-Site": "same-site"}, 403, 403),  # another port of this machine
        ({"Sec-Fetch-Site": "cross-site"}, 403, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://loci"}, 403, 403),
        ({"Origin": "http://loci"}, 200, 201),  # over http a browser says no more than this
        ({"Origin": "http://loci:80"}, 200, 201),
        ({"Origin": "http://loci:81"}, 403, 403),
        ({"Origin": "https://loci"}, 403, 403),  # another scheme is another origin
        ({"Origin": "https://loci:80"}, 403, 403),
        ({"Origin": "loci"}, 403, 403),
        ({"Origin": "file://loci"}, 403, 403),
        ({"Origin": "http://evil.example"}, 403, 403),
        ({"Origin": "null"}, 403, 403),
        ({}, 200, 403),
    ],
)
def test_a_request_by_cookie_alone_must_come_from_a_page_of_this_origin(
    home: Any, keyed: Service, headers: dict[str, str], read: int, written: int
) -> None:
    key = make_key(home)["key"]
    with keyed.client(**SAME) as browser:
        sign_in(browser, key)
        token = browser.cookies[COOKIE]
    with keyed.client(Cookie=f"{COOKIE}={token}", **headers) as client:
        assert me(client).status_code == read
        assert client.post("/memories", json={"content": "Written with a cookie."}).status_code == written
        assert client.delete(KEY).status_code == (204 if written == 201 else 403)
    with keyed.client(Authorization=f"Bearer {key}", **headers) as program:  # a key proves itself
        ok(me(program))


@pytest.mark.parametrize(
    ("scheme", "host", "origin", "same"),
    [
        ("https", "loci.example", "https://loci.example", True),
        ("https", "loci.example:443", "https://loci.example", True),
        ("https", "loci.example", "https://LOCI.example:443", True),
        ("https", "[::1]:8420", "https://[::1]:8420", True),
        ("https", "loci.example", "http://loci.example", False),
        ("https", "loci.example", "http://loci.example:443", False),
        ("http", "loci.example:443", "https://loci.example", False),
        ("https", "loci.example", "https://user@loci.example", False),
        ("https", "loci.example", "https://loci.example/", False),
        ("https", "", "https://", False),
    ],
)
def test_an_origin_is_a_scheme_a_host_and_a_port(scheme: str, host: str, origin: str, *, same: bool) -> None:
    scope = {"scheme": scheme, "method": "POST", "headers": [(b"host", host.encode()), (b"origin", origin.encode())]}
    assert (foreign_use(scope) is None) == same


def test_a_session_takes_the_share_and_the_allowance_of_its_key(home: Any, keyed: Service, browser: httpx.Client) -> None:
    key = make_key(home, rate_limit=2)
    sign_in(browser, key["key"])
    statuses = [me(browser).status_code for _ in range(7)]
    assert (statuses.count(200), statuses.count(429)) == (1, 6)
    problem(browser.get("/agents/me", headers={"Authorization": f"Bearer {key['key']}"}), 429, "rate-limited")
    other = make_key(home)["key"]
    sign_in(browser, other)
    ok(browser.get("/memories"))
    shares = keyed.app.state.loci.pool.shares  # who was seen to take a connection: the key, and not its session
    assert shares.knows_home(hash_key(other))
    assert not shares.knows_home(hash_token(browser.cookies[COOKIE]))


def test_without_keys_there_is_nothing_to_sign_in_to(service: Service) -> None:
    with service.client() as client:
        ok(me(client))
        problem(client.post(KEY), 401, "unauthorized")
        assert client.delete(KEY).status_code == 204
