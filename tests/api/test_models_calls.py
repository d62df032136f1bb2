"""Calls of models over REST: what they cost, and what is left of the day's budget."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from loci import LociClient
from tests.services import Api, ok, problem


def called(api: Api, purpose: str = "memories", *, job: Any = None, tokens: tuple[int, int] | None = (100, 50)) -> str:
    """Note a call; without tokens it goes on running."""
    with api.service.database.admin() as connection:
        connection.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        row = connection.execute(
            "select id from loci_api.reserve_model_call(%s, %s, %s, 'scripted', 10, 1000, 1000, 1, 2)",
            [api.namespace, job, purpose],
        ).fetchone()
        assert row is not None
        if tokens:
            connection.execute(
                "select loci_api.finish_model_call(%s, %s, %s, %s, false, 7, null, 1, 2)", [api.namespace, row[0], *tokens]
            )
        return str(row[0])


def test_a_call_is_shown_with_what_it_cost(api: Api) -> None:
    job = uuid4()
    made = called(api, job=job)
    (call,) = ok(api.get("/model-calls"))["items"]
    assert datetime.fromisoformat(call.pop("started_at")) > datetime.now(UTC) - timedelta(minutes=5)
    assert call == {
        "id": made,
        "job_id": str(job),
        "purpose": "memories",
        "model": "scripted",
        "state": "succeeded",
        "took_ms": 7,
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "estimated": False,
        "cost": 0.0002,
        "error": None,
    }


def test_calls_are_found_by_purpose_and_by_job(api: Api) -> None:
    job = uuid4()
    mine = called(api, "graph", job=job)
    called(api, "retain")
    assert [call["id"] for call in ok(api.get("/model-calls", purpose="graph"))["items"]] == [mine]
    assert [call["id"] for call in ok(api.get("/model-calls", job_id=str(job)))["items"]] == [mine]


def test_usage_says_what_is_left_of_the_day(api: Api) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"model_tokens": 5000, "model_cost": 1}}))
    called(api)
    called(api, tokens=None)
    usage = ok(api.get("/model-usage"))
    assert datetime.fromisoformat(usage.pop("day")).date() in {
        datetime.now(UTC).date(),
        datetime.now(UTC).date() - timedelta(days=1),
    }
    assert usage == {
        "calls": 2,
        "running": 1,
        "failed": 0,
        "prompt_tokens": 110,
        "completion_tokens": 1050,
        "cost": 0.00221,
        "token_limit": 5000,
        "tokens_left": 3840,
        "cost_limit": 1.0,
        "cost_left": 0.99779,
    }


def test_usage_of_another_day_is_that_days(api: Api) -> None:
    called(api)
    usage = ok(api.get("/model-usage", day="2020-02-29"))
    assert (usage["day"], usage["calls"], usage["tokens_left"]) == ("2020-02-29", 0, 2_000_000)


@pytest.mark.parametrize(
    "path", ["/model-calls?limit=0", "/model-calls?cursor=x", "/model-calls?job_id=x", "/model-usage?day=yesterday"]
)
def test_an_invalid_query_of_calls_is_refused(api: Api, path: str) -> None:
    problem(api.client.get(path), 422, "invalid-request")


def test_another_namespace_sees_none_of_it(api: Api) -> None:
    called(api)
    other = f"{api.namespace}-other"
    ok(api.post("/namespaces", {"name": other}), 201)
    assert ok(api.client.get("/model-calls", headers={"X-Namespace": other}))["items"] == []


def test_the_client_reads_both(api: Api) -> None:
    ids = [called(api, "graph") for _ in range(3)]
    with LociClient("http://loci", namespace=api.namespace, transport=api.client._transport) as client:
        assert [str(call.id) for call in client.models.list_calls(purpose="graph")] == ids[::-1]
        assert client.models.usage().calls == 3
        assert client.models.usage(day="2020-02-29").calls == 0
