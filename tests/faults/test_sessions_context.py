"""Contexts of one session at once, and over a restart: no memory is injected twice, one context is the first."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve

TOPICS = ["apple", "berry", "cherry", "damson"]


@pytest.fixture(scope="module")
def fresh(server: Server) -> Any:
    """A database that services can be started over one after the other."""
    made = server.clone("context")
    yield made
    server.drop(made)


@pytest.fixture(scope="module")
def running(fresh: Database) -> Iterator[Service]:
    """A service over it for tests that start none."""
    with serve(fresh, pool_size=8) as started:
        yield started


@pytest.fixture
def filled(running: Service) -> Iterator[Api]:
    """A client in a namespace of its own that is filled."""
    with new_api(running) as made:
        fill(made)
        yield made


def fill(api: Api) -> None:
    items = [
        {"content": f"{topic} and {other} number {n}"} for n in range(10) for topic in TOPICS for other in TOPICS if topic < other
    ]
    ok(api.post("/memories/batch", {"items": items}))


def ask(api: Api, message: str | None, session: str = "s") -> dict[str, Any]:
    body = {"session_id": session, **({"message": message} if message else {})}
    return ok(api.post("/context", body))


def ids(found: dict[str, Any]) -> list[str]:
    return [memory["id"] for memory in found["memories"]]


@pytest.mark.row("W4")
def test_contexts_of_one_session_at_once_never_inject_a_memory_twice(filled: Api) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: ask(filled, f"{TOPICS[n % 4]} {TOPICS[(n + 1) % 4]}"), range(24)))
    seen = Counter(memory for one in found for memory in ids(one))
    assert len(seen) > 20
    assert max(seen.values()) == 1
    assert all(memory in one["text"] for one in found for memory in ids(one))
    assert [one["first"] for one in found].count(True) == 1
    assert ok(filled.post("/sessions/s/end"))["injected"] == len(seen)


def test_only_one_of_concurrent_first_contexts_falls_back(filled: Api) -> None:
    gate = threading.Barrier(6)

    def first(session: str) -> dict[str, Any]:
        gate.wait(PATIENCE)
        return ask(filled, None, session)

    with ThreadPoolExecutor(6) as pool:
        for session in ("a", "b", "c"):
            found = list(pool.map(lambda _, session=session: first(session), range(6)))
            assert sorted(len(ids(one)) for one in found) == [0, 0, 0, 0, 0, 5]
            assert [one["first"] for one in found].count(True) == 1


def test_ends_among_contexts_leave_every_memory_injected_once_between_two_ends(filled: Api) -> None:
    def step(n: int) -> int:
        if n % 5 == 4:
            return -int(ok(filled.post("/sessions/s/end"))["injected"])
        return len(ids(ask(filled, f"{TOPICS[n % 4]} {TOPICS[(n + 1) % 4]}")))

    with ThreadPoolExecutor(4) as pool:
        balance = sum(pool.map(step, range(40)))
    assert balance - ok(filled.post("/sessions/s/end"))["injected"] == 0


@pytest.mark.row("W4")
def test_a_new_service_over_the_same_database_injects_nothing_again(fresh: Database) -> None:
    with serve(fresh) as running, new_api(running) as api:
        fill(api)
        before = ids(ask(api, "apple berry"))
        namespace = api.namespace
    with serve(fresh) as running, running.client(**{"X-Namespace": namespace}) as client:
        again = ask(Api(client, namespace, running), "apple berry")
    assert len(before) == 8
    assert (ids(again), again["held_back"], again["first"]) == ([], 8, False)


def test_a_context_whose_transaction_is_lost_was_never_the_first(fresh: Database) -> None:
    """Killed after it began: the one that waited for it is the first."""
    dying = psycopg.connect(fresh.app_url)
    with serve(fresh) as running, new_api(running) as api, fresh.admin() as admin:
        fill(api)
        act_as(dying, OPERATOR)
        begun = dying.execute("select loci_api.begin_context(%s, 's')", [api.namespace]).fetchone()
        noted = dying.execute(
            "select * from loci_api.record_context(%(ns)s, 's', array(select id from loci.current_memories where namespace = %(ns)s limit 3))",
            {"ns": api.namespace},
        ).fetchall()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, api, None)
            behind = "select from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
            eventually(lambda: admin.execute(behind, [dying.info.backend_pid]).rowcount)
            admin.execute("select pg_terminate_backend(%s, 60000)", [dying.info.backend_pid])
            found = waiting.result(PATIENCE)
    dying.close()
    assert (begun, len(noted)) == ((1,), 3)
    assert (found["first"], len(ids(found)), found["held_back"]) == (True, 5, 0)


def test_a_memory_erased_while_a_context_is_built_is_in_none(start_service: Callable[..., Service]) -> None:
    with new_api(start_service(pool_size=8)) as api:
        items = [{"content": f"apple number {n}"} for n in range(20)]
        written = [row["id"] for row in ok(api.post("/memories/batch", {"items": items}))["items"]]

        def erase(n: int) -> None:
            ok(api.post("/memories/erase", {"ids": [written[n]]}))

        with ThreadPoolExecutor(4) as pool:
            contexts = [pool.submit(ask, api, f"apple number {n}", f"s{n}") for n in range(20)]
            erased = [pool.submit(erase, n) for n in range(20)]
            assert all(done.result(PATIENCE)["session_id"] for done in contexts)
            assert [done.result(PATIENCE) for done in erased] == [None] * 20
        with api.service.database.admin() as admin:
            assert admin.execute("select count(*) from loci_data.injections").fetchone() == (0,)
