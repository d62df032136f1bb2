"""Sharing over REST: grants, who am I, and one recall over everything that an agent may read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.services import Api, Service, new_api, ok, problem


@pytest.fixture
def guest(guarded: Service, api: Api) -> Iterator[tuple[httpx.Client, str]]:
    """A client of an agent that has a namespace of its own, and the agent's id."""
    with new_api(api.service) as home:
        made = ok(home.post("/keys", {"role": "writer", "name": "guest"}), 201)
        with guarded.client(Authorization=f"Bearer {made['key']}") as client:
            ok(client.post("/memories", json={"content": "the garden at home"}), 201)
            yield client, made["agent_id"]


def give(api: Api, agent: str, role: str, **fields: Any) -> dict[str, Any]:
    return ok(api.client.put(f"/grants/{agent}", json={"role": role, **fields}))


def everywhere(client: httpx.Client) -> set[str]:
    """Contents that one recall over all readable namespaces finds."""
    results = ok(client.post("/recall", json={"query": "garden", "namespaces": "*"}))["results"]
    return {result["content"] for result in results}


@pytest.mark.row("R7")
def test_one_recall_finds_what_every_grant_reaches_and_no_more(api: Api, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    api.write("the garden of the team")
    assert everywhere(client) == {"the garden at home"}
    give(api, agent, "reader")
    assert everywhere(client) == {"the garden at home", "the garden of the team"}
    ok(api.client.delete(f"/grants/{agent}"))
    assert everywhere(client) == {"the garden at home"}


def test_a_grant_that_expires_is_over_at_its_moment(api: Api, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    api.write("the garden of the team")
    give(api, agent, "reader")
    assert len(everywhere(client)) == 2
    give(api, agent, "reader", expires_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    assert len(everywhere(client)) == 2
    with api.service.database.admin() as admin:
        admin.execute(
            "update loci_data.grants set expires_at = clock_timestamp() where agent_id = %s and expires_at is not null", [agent]
        )
    assert everywhere(client) == {"the garden at home"}
    problem(client.get("/memories", headers={"X-Namespace": api.namespace}), 403, "forbidden")


@pytest.mark.row("X2")
def test_roles_are_those_of_the_grant(api: Api, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    there = {"X-Namespace": api.namespace}
    give(api, agent, "reader")
    problem(client.post("/memories", json={"content": "x"}, headers=there), 403, "forbidden")
    give(api, agent, "writer")
    ok(client.post("/memories", json={"content": "x"}, headers=there), 201)
    problem(client.get("/grants", headers=there), 403, "forbidden")
    give(api, agent, "admin")
    assert [grant["agent_id"] for grant in ok(client.get("/grants", headers=there))["items"]] == [agent]
    problem(client.delete(f"/grants/{agent}", headers=there), 409, "conflict")


def test_an_agent_learns_who_it_is(api: Api, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    give(api, agent, "reader")
    me = ok(client.get("/agents/me"))
    assert (me["agent_id"], me["name"], me["kind"]) == (agent, "guest", "key")
    assert me["key_id"] is not None
    assert sorted(grant["role"] for grant in me["grants"]) == ["reader", "writer"]
    assert ok(api.get("/agents/me"))["grants"] is None


def test_grants_are_listed_and_set_in_the_namespace_of_the_request_alone(api: Api, guest: tuple[httpx.Client, str]) -> None:
    _, agent = guest
    assert ok(api.get("/grants"))["items"] == []
    assert give(api, agent, "reader")["created"]
    assert not give(api, agent, "writer")["created"]
    assert [(grant["agent"], grant["role"], grant["expired"]) for grant in ok(api.get("/grants"))["items"]] == [
        ("guest", "writer", False)
    ]


@pytest.mark.parametrize(
    ("agent", "body", "status", "slug"),
    [
        ("00000000-0000-0000-0000-000000000005", {"role": "reader"}, 404, "not-found"),  # to the operator
        ("00000000-0000-0000-0000-000000000000", {"role": "reader"}, 422, "invalid-request"),
        (None, {"role": "owner"}, 422, "invalid-request"),
        (None, {}, 422, "invalid-request"),
        (None, {"role": "reader", "expires_at": "2020-01-01T00:00:00Z"}, 422, "invalid-request"),
        (None, {"role": "reader", "expires": "2020-01-01T00:00:00Z"}, 422, "invalid-request"),
    ],
)
def test_a_wrong_grant_is_refused(
    api: Api, guest: tuple[httpx.Client, str], agent: str | None, body: dict[str, Any], status: int, slug: str
) -> None:
    problem(api.client.put(f"/grants/{agent or guest[1]}", json=body), status, slug)


def test_taking_a_grant_twice_is_not_found(api: Api, guest: tuple[httpx.Client, str]) -> None:
    give(api, guest[1], "reader")
    ok(api.client.delete(f"/grants/{guest[1]}"))
    problem(api.client.delete(f"/grants/{guest[1]}"), 404, "not-found")


# Invitations


@pytest.fixture
def host(api: Api, guarded: Service) -> Iterator[httpx.Client]:
    """A client of an admin of the namespace of `api`, at home there."""
    made = ok(api.post("/keys", {"role": "admin", "name": "host"}), 201)
    with guarded.client(Authorization=f"Bearer {made['key']}") as client:
        yield client


def test_an_invitation_shows_nothing_to_either_until_it_is_accepted(
    api: Api, host: httpx.Client, guest: tuple[httpx.Client, str]
) -> None:
    client, agent = guest
    api.write("the garden of the team")
    told = ok(host.put(f"/grants/{agent}", json={"role": "reader"}))
    assert (told["agent"], told["kind"], told["accepted"], told["created"]) == (None, None, False, True)
    (listed,) = [row for row in ok(host.get("/grants"))["items"] if row["agent_id"] == agent]
    assert (listed["agent"], listed["accepted"], listed["expired"]) == (None, False, False)
    assert everywhere(client) == {"the garden at home"}
    problem(client.get("/memories", headers={"X-Namespace": api.namespace}), 403, "forbidden")
    (invited,) = ok(client.get("/agents/me/invitations"))["items"]
    assert (invited["namespace"], invited["role"], invited["expires_at"]) == (api.namespace, "reader", None)
    again = [ok(client.post(f"/agents/me/invitations/{api.namespace}/accept")) for _ in range(2)]
    assert again == [{"namespace": api.namespace, "role": "reader", "expires_at": None}] * 2
    assert everywhere(client) == {"the garden at home", "the garden of the team"}
    assert ok(client.get("/agents/me/invitations")) == {"items": [], "next_cursor": None}
    assert {row["agent"] for row in ok(host.get("/grants"))["items"]} == {"host", "guest"}


def test_an_invitation_is_declined_and_a_namespace_left(api: Api, host: httpx.Client, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    ok(host.put(f"/grants/{agent}", json={"role": "reader"}))
    mine = f"/agents/me/invitations/{api.namespace}"
    assert client.delete(mine).status_code == 204
    problem(client.delete(mine), 404, "not-found")
    problem(client.post(f"{mine}/accept"), 404, "not-found")
    ok(host.put(f"/grants/{agent}", json={"role": "reader"}))
    ok(client.post(f"{mine}/accept"))
    there = f"/agents/me/grants/{api.namespace}"
    assert client.delete(there).status_code == 204
    problem(client.delete(there), 404, "not-found")
    assert everywhere(client) == {"the garden at home"}
    problem(host.delete(f"/grants/{agent}"), 404, "not-found")


def test_an_agent_that_has_left_its_home_still_answers(api: Api, host: httpx.Client, guest: tuple[httpx.Client, str]) -> None:
    client, agent = guest
    (own,) = ok(client.get("/agents/me"))["grants"]
    assert client.delete(f"/agents/me/grants/{own['namespace']}").status_code == 204
    ok(host.put(f"/grants/{agent}", json={"role": "reader"}))
    accepting = f"/agents/me/invitations/{api.namespace}/accept"
    ok(client.post(accepting, headers={"Idempotency-Key": "once"}))
    problem(client.get("/memories"), 403, "forbidden")
    ok(client.get("/memories", headers={"X-Namespace": api.namespace}))


# The header that names a namespace


def test_two_namespaces_in_a_header_are_refused(api: Api) -> None:
    headers = [("X-Namespace", api.namespace), ("X-Namespace", "default")]
    with api.service.client() as client:
        problem(client.get("/memories", headers=headers), 422, "invalid-request")


@pytest.mark.parametrize("shape", ["{0},default", "{0}, {0}", "{0}/../{0}", "{0}%20", "{0}%00", "{0};", '"{0}"', "{0}-a", "*", "%"])
def test_a_name_in_the_header_is_that_name_and_no_other(api: Api, guest: tuple[httpx.Client, str], shape: str) -> None:
    client, agent = guest
    give(api, agent, "reader")
    there = {"X-Namespace": api.namespace}
    assert client.get("/memories", headers=there).status_code == 200
    problem(client.get("/memories", headers={"X-Namespace": shape.format(api.namespace)}), 403, "forbidden")
