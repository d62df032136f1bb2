"""A pooler in transaction mode in front of the server."""

import asyncio
from collections.abc import Iterator

import pytest

from db.pool import make_pool
from service.app import Refusal, check_before_serving
from service.cli.doctor import examine_installation
from service.settings import Settings
from tests.distributed.pooler import running_pooler
from tests.distributed.servers import Node, Servers, running_servers
from tests.services import eventually, new_api, ok, serve


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """A primary."""
    with running_servers(0) as made:
        yield made


@pytest.fixture(scope="module")
def pooler(servers: Servers) -> Iterator[Node]:
    """A pooler with two sessions in front of it."""
    with running_pooler("127.0.0.1", servers.primary.port, size=2) as made:
        yield made


def settings(**stated: object) -> Settings:
    return Settings(_env_file=None, embedding={"provider": "none"}, **stated)  # type: ignore[arg-type]


def refusal(url: str, **stated: object) -> str:
    """Why the service does not start."""

    async def start() -> None:
        async with make_pool(url, size=1, prepare=bool(stated.get("prepare"))) as pool:
            await check_before_serving(pool, settings(**stated))

    with pytest.raises(Refusal) as refused:
        asyncio.run(start())
    return str(refused.value)


@pytest.mark.release
@pytest.mark.row("X12")
def test_behind_a_pooler_the_service_wants_a_way_around_it(pooler: Node) -> None:
    assert "set LOCI_DIRECT_URL" in refusal(pooler.url("loci_app"))
    assert "LOCI_DIRECT_URL leads through a pooler" in refusal(pooler.url("loci_app"), direct_url=pooler.url("loci_app"))


@pytest.mark.release
@pytest.mark.row("X12")
def test_statements_behind_a_pooler_are_not_prepared(servers: Servers, pooler: Node) -> None:
    said = refusal(pooler.url("loci_app"), direct_url=servers.primary.url("loci_app"), prepare=True)
    assert (
        said
        == "LOCI_PREPARE is set, and the pooler knows no prepared statements: PgBouncer does from 1.21 on, with max_prepared_statements"
    )


def test_memories_jobs_and_changes_work_through_a_pooler_with_fewer_sessions_than_connections(
    servers: Servers, pooler: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.services.POOLER", pooler.url("loci_app"))
    with serve(servers.database, pool_size=5) as service, new_api(service) as api:
        for nth in range(10):  # more often than a statement is sent before it would be prepared
            api.write(f"Buoy {nth} was painted")
        assert len(api.recall("buoy", k=20)["results"]) == 10
        job = ok(api.post("/recall/tune", {}), 202)["job_id"]
        eventually(lambda: ok(api.get(f"/jobs/{job}"))["state"] == "succeeded")
        eventually(lambda: len(ok(api.get("/changes", after="0", limit=100))["items"]) >= 10)


@pytest.mark.release
def test_doctor_recognises_a_pooler(servers: Servers, pooler: Node) -> None:
    def said(**stated: object) -> tuple[bool, str]:
        found = asyncio.run(examine_installation(settings(port=1, **stated), pooler.url("loci_app")))
        return next((check.ok, check.detail) for check in found if check.name == "pooler")

    assert said() == (False, "LOCI_DATABASE_URL leads through one: set LOCI_DIRECT_URL to the server itself")
    assert not said(direct_url=servers.primary.url("loci_app"), prepare=True)[0]
    around = said(direct_url=servers.primary.url("loci_app"))
    assert around == (True, "one stands between, and LOCI_DIRECT_URL leads around it; statements are not prepared")
