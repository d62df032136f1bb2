"""Many agents retain at once: one memory for what they all say, one chain for what they change."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.services import Api, Service, eventually, new_api, ok, serve

AGENTS = 24  # half of them at a time


@pytest.fixture(scope="module")
def crowd_database(server: Server) -> Iterator[Database]:
    database = server.clone("retain")
    yield database
    server.drop(database)


@pytest.fixture(scope="module")
def crowded(crowd_database: Database) -> Iterator[Service]:
    with serve(crowd_database, pool_size=12) as running:
        yield running


@pytest.fixture
def crowd(crowded: Service) -> Iterator[Api]:
    with new_api(crowded) as api:
        yield api


def at_once(count: int, work: Any) -> list[Any]:
    with ThreadPoolExecutor(12) as pool:
        return list(pool.map(work, range(count)))


def memories(api: Api) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = ok(api.get("/memories", all_versions=True, limit=1000))["items"]
    return items


def test_agents_who_say_the_same_at_once_make_one_memory(crowd: Api) -> None:
    told = at_once(AGENTS, lambda n: ok(crowd.post("/retain", {"content": "Alice likes tea" + "." * (n % 2)})))
    assert sum(answer["created"] for answer in told) == 1
    (memory,) = memories(crowd)
    assert memory["observations"] == AGENTS


def test_agents_who_change_one_fact_at_once_make_one_chain(crowd: Api) -> None:
    first = crowd.write("Alice lives in town zero")
    told = at_once(AGENTS, lambda n: ok(crowd.post("/retain", {"content": f"Alice lives in place{n}"})))
    assert all(answer["updated"] == 1 for answer in told)
    versions = memories(crowd)
    assert {row["lineage"] for row in versions} == {first["lineage"]}
    assert sorted(row["version"] for row in versions) == list(range(1, AGENTS + 2))
    assert sum(row["current"] for row in versions) == 1


def test_retains_and_writes_of_the_same_lineages_lose_nothing(crowd: Api) -> None:
    for name in ("Alice", "Bob", "Carol"):
        crowd.write(f"{name} lives in town zero", lineage=name)

    def work(n: int) -> Any:
        order = ("Alice", "Bob", "Carol") if n % 2 else ("Carol", "Bob", "Alice")
        if n % 4 < 2:
            return ok(crowd.post("/retain", {"content": "\n".join(f"{name} lives in place{n}" for name in order)}))
        items = [{"content": f"{name} lives in place{n}", "lineage": name} for name in order]
        return ok(crowd.post("/memories/batch", {"items": items, "atomic": True}))

    at_once(AGENTS, work)
    versions = memories(crowd)
    assert len(versions) == 3 * (AGENTS + 1)
    assert sum(row["current"] for row in versions) == 3
    assert {row["lineage"] for row in versions} == {"Alice", "Bob", "Carol"}


def test_a_decision_is_taken_again_if_someone_ends_what_it_rests_on(crowd_database: Database, crowd: Api) -> None:
    crowd.write("Alice lives in Berlin", lineage="home")
    with psycopg.connect(crowd_database.app_url) as writer:
        act_as(writer, OPERATOR)
        item = Jsonb([{"content": "Alice lives in Rome", "lineage": "home"}])
        writer.execute("select * from loci_api.remember(%s, %s)", [crowd.namespace, item])
        with crowd_database.admin() as watcher, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(crowd.post, "/retain", {"content": "Alice lives in Porto"})
            behind = "select from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
            eventually(lambda: watcher.execute(behind, [writer.info.backend_pid]).rowcount)
            writer.commit()
            (decision,) = ok(waiting.result())["decisions"]
    rome = next(row for row in memories(crowd) if row["content"] == "Alice lives in Rome")
    assert (decision["action"], decision["superseded"]) == ("update", rome["id"])


def test_reflects_at_once_make_each_concept_once(crowd: Api) -> None:
    ok(crowd.post("/memories/batch", {"items": [{"content": f"fact {n}", "category": f"domain/part{n % 3}"} for n in range(30)]}))
    done = at_once(12, lambda _: ok(crowd.post("/reflect", {})))
    assert sorted(row["lineage"] for answer in done for row in answer["created"]) == [
        "category/domain",
        *(f"category/domain/part{n}" for n in range(3)),
    ]
    assert sum(len(answer["placed"]) for answer in done) == 30
    assert sum(row["layer"] < 2 for row in memories(crowd)) == 4
