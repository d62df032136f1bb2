"""Pages of other origins: those that LOCI_CORS_ORIGINS names may call the service from a browser, with a key in a header; no others."""

from collections.abc import Iterator

import httpx
import pytest
from pydantic import ValidationError

from service.settings import Settings
from tests.databases import Database
from tests.services import serve

FRIEND, STRANGER = "https://app.example", "https://page.example"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type, x-namespace"}


@pytest.fixture(scope="module")
def client(service_database: Database) -> Iterator[httpx.Client]:
    """A service without keys that knows one other origin."""
    with serve(service_database, worker=False, cors_origins=[FRIEND]) as service, service.client() as opened:
        yield opened


def test_a_preflight_of_a_named_origin_says_what_it_may_send(client: httpx.Client) -> None:
    said = client.options("/recall", headers={"Origin": FRIEND, **ASKS})
    assert said.status_code == 200
    assert said.headers["access-control-allow-origin"] == FRIEND
    assert "PATCH" in said.headers["access-control-allow-methods"]
    allowed = said.headers["access-control-allow-headers"]
    assert {name.strip() for name in allowed.split(",")} >= {"authorization", "content-type", "x-namespace"}


def test_a_named_origin_reads_replies_and_refusals_and_no_cookie_goes_along(client: httpx.Client) -> None:
    for path, status in (("/namespaces", 200), ("/memories?limit=x", 422), ("/nowhere", 404)):
        said = client.get(path, headers={"Origin": FRIEND})
        assert (said.status_code, said.headers.get("access-control-allow-origin")) == (status, FRIEND)
        assert "X-Request-Id" in said.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in said.headers
        assert "Origin" in said.headers["vary"]


def test_other_origins_are_told_nothing(client: httpx.Client) -> None:
    refused = client.options("/recall", headers={"Origin": STRANGER, **ASKS})
    assert (refused.status_code, refused.headers.get("access-control-allow-origin")) == (400, None)
    said = client.get("/namespaces", headers={"Origin": STRANGER})
    assert (said.status_code, said.headers.get("access-control-allow-origin")) == (403, None)


def test_without_the_setting_no_other_origin_may_call(service_database: Database) -> None:
    with serve(service_database, worker=False) as service, service.client() as client:
        said = client.options("/recall", headers={"Origin": FRIEND, **ASKS})
        assert said.status_code in {403, 405}
        assert not [name for name in said.headers if name.startswith("access-control")]


def test_every_origin_is_none_of_a_service_without_keys(service_database: Database) -> None:
    with serve(service_database, worker=False, cors_origins=["*"]) as service, service.client() as client:
        assert client.get("/namespaces", headers={"Origin": FRIEND}).status_code == 403


@pytest.mark.parametrize("wrong", ["app.example", "https://app.example/", "https://app.example/path", "https://", "null"])
def test_an_invalid_origin_is_refused_and_named(wrong: str) -> None:
    with pytest.raises(ValidationError, match=r"is no origin: expected a scheme, a host and a port"):
        Settings(_env_file=None, cors_origins=wrong)


def test_origins_are_given_with_commas_between() -> None:
    assert Settings(_env_file=None, cors_origins="https://A.example, http://b.example:3000").cors_origins == [
        "https://a.example",
        "http://b.example:3000",
    ]
