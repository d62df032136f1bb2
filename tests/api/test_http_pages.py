"""What a browser is told: pages that load nothing from elsewhere, and headers of every reply."""

import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from service.http import documentation
from service.http.documentation import ASSETS, DIGESTS
from tests.holding import watched
from tests.services import Api, Service, ok, problem, serve

PAGE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
SECRET = "figures-are-for-the-few"


@pytest.fixture
def browser(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        client.base_url = httpx.URL("http://loci/")
        yield client


def directives(response: httpx.Response) -> dict[str, list[str]]:
    policy = response.headers.get_list("content-security-policy")
    assert len(policy) == 1, policy
    return {words[0]: words[1:] for words in (part.split() for part in policy[0].split(";"))}


def is_guarded(response: httpx.Response) -> bool:
    policy = directives(response)
    return (
        all(response.headers.get_list(name) == [value] for name, value in PAGE_HEADERS.items())
        and policy["default-src"] == policy["frame-ancestors"] == ["'none'"]
        and not any("unsafe" in word or "http" in word or "*" in word for words in policy.values() for word in words)
    )


def test_the_document_is_made_once_and_beside_the_loop(service: Service) -> None:
    with serve(service.database, worker=False) as fresh, fresh.client() as client, ThreadPoolExecutor(3) as pool:
        assert fresh.loop is not None
        client.get("/agents/me")
        with watched(fresh.loop) as most:
            read = {each.content for each in pool.map(client.get, ["http://loci/openapi.json"] * 3)}
        assert most.thread < 0.15  # seconds of a processor
        assert [json.loads(each)["info"]["title"] for each in read] == ["Loci"]


@pytest.mark.row("REST")
def test_the_page_of_the_documentation_and_all_that_it_loads_come_from_here(browser: httpx.Client) -> None:
    page = browser.get("/docs")
    assert (page.status_code, page.url.path, page.headers["cache-control"]) == (200, "/docs", "no-store")
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 5
    for link in loaded:
        if link != "data:,":
            found = browser.get(page.url.join(link))
            assert (found.status_code, found.url.host, is_guarded(found)) == (200, "loci", True), link
    assert (
        re.findall(r"<(?:script|link)(?![^>]*(?:src|href)=)|<style|style=|\son\w+=", page.text) == []
    )  # nothing that the policy stops
    assert is_guarded(page)
    assert directives(page)["script-src"] == directives(page)["connect-src"] == ["'self'"]


@pytest.mark.parametrize("name", ASSETS)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_file_of_the_page_is_the_one_that_was_published(browser: httpx.Client, name: str, encoding: str) -> None:
    found = browser.get(f"/docs/{name}", headers={"Accept-Encoding": encoding})
    assert found.headers.get("content-encoding", "identity") == encoding
    assert hashlib.sha256(found.content).hexdigest() == DIGESTS[ASSETS[name][0]]
    assert (found.headers["cache-control"], found.headers["content-type"]) == (documentation.FOREVER.decode(), ASSETS[name][1])


@pytest.mark.parametrize(
    "path", ["/docs/page.html", "/docs/swagger-ui.css.gz", "/docs/..%2f__init__.py", "/redoc", "/docs/oauth2-redirect"]
)
def test_no_other_file_is_served(browser: httpx.Client, path: str) -> None:
    problem(browser.get(path), 404, "not-found")


@pytest.mark.row("REST")
@pytest.mark.parametrize(
    ("method", "path", "status", "options"),
    [
        ("GET", "/api/v1/memories", 200, {}),
        ("GET", "/api/v1/nowhere", 404, {}),
        ("POST", "/api/v1/memories", 422, {"json": {}}),
        ("POST", "/api/v1/memories", 431, {"headers": {"X-Long": "x" * 70_000}}),
        ("PATCH", "/healthz", 405, {}),
        ("GET", "/healthz", 200, {}),
        ("GET", "/readyz", 200, {}),
        ("GET", "/metrics", 200, {}),
        ("GET", "/openapi.json", 200, {}),
        ("GET", "/api/v1/memories", 421, {"headers": {"Host": "rebound.example"}}),
        ("POST", "/mcp", 200, {"headers": {"Accept": "application/json, text/event-stream"},
                               "json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}}),
    ],
)  # fmt: skip
def test_no_reply_is_kept_framed_or_taken_for_something_else(
    api: Api, browser: httpx.Client, method: str, path: str, status: int, options: dict[str, Any]
) -> None:
    headers = {"X-Namespace": api.namespace, **options.pop("headers", {})}
    found = browser.request(method, path, headers=headers, **options)
    assert (found.status_code, found.headers.get_list("cache-control"), is_guarded(found)) == (status, ["no-store"], True), (
        found.text
    )


def test_so_is_no_stream(api: Api) -> None:
    with api.client.stream("GET", "/events") as found:
        assert (found.status_code, found.headers.get_list("cache-control"), is_guarded(found)) == (200, ["no-store"], True)


def test_an_internal_error_is_not_kept_framed_or_taken_for_something_else(
    service: Service, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scrape() -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(service.app.state.loci.monitor, "scrape_metrics", scrape)
    found = browser.get("/metrics")
    assert (found.status_code, found.headers.get_list("cache-control"), is_guarded(found)) == (500, ["no-store"], True)


@pytest.mark.parametrize(
    ("authorization", "status"),
    [(None, 401), ("Bearer wrong", 401), (f"Basic {SECRET}", 401), (SECRET, 401), ("Bearer", 401), (f"Bearer {SECRET}", 200), (f"bearer  {SECRET}", 200)],
)  # fmt: skip
def test_the_metrics_ask_for_their_key_where_there_is_one(keyed: Service, authorization: str | None, status: int) -> None:
    with keyed.client() as client:
        found = client.get("http://loci/metrics", headers={"Authorization": authorization} if authorization else {})
        assert found.status_code == status
        assert ("loci_requests_total" in found.text) == (status == 200)
        ok(client.get("http://loci/healthz"))


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer None", "Bearer an-api-key"])
def test_metrics_are_closed_until_they_have_a_key_where_keys_are_required(guarded: Service, authorization: str) -> None:
    with guarded.client() as client:
        found = problem(client.get("http://loci/metrics", headers={"Authorization": authorization}), 401, "unauthorized")
        assert "LOCI_METRICS_KEY" in found["hint"]


@pytest.fixture(scope="module")
def keyed(service: Service) -> Iterator[Service]:
    """A service whose metrics have a key."""
    with serve(service.database, worker=False, metrics_key=SECRET) as running:
        yield running
