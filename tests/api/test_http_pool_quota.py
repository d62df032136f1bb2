"""Shares of the pool: who takes all that is theirs waits, and is refused, while others are answered."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from db.errors import TooManyAtOnce
from db.pool_quota import PoolQuota, ShareLimits
from tests.services import PATIENCE, POOLER, Api, Service, eventually, new_api, ok, problem

HERE = (
    "and not granted and database = (select oid from pg_database where datname = current_database())"  # others have the same oids
)
LOCKED = f"select from pg_locks where relation = 'loci_data.memories'::regclass {HERE}"
own_sessions = pytest.mark.skipif(POOLER is not None, reason="a pooler's sessions are whoever's: nobody's stand back")


@contextmanager
def standing_still(api: Api) -> Iterator[Any]:
    """Whatever reads memories waits until the block ends; what is yielded counts who does."""
    with api.service.database.admin() as watcher, api.service.database.admin() as locker, locker.transaction(force_rollback=True):
        locker.execute("lock table loci_data.memories in access exclusive mode")
        yield lambda: watcher.execute(LOCKED).rowcount


def wait_shortly(service: Service) -> None:
    """Refuse from now on who is beyond a share; before, connections were made, which may take as long as it likes."""
    service.app.state.loci.pool.shares._wait = 0.3


def key_of(api: Api, role: str = "writer") -> dict[str, str]:
    return {"Authorization": f"Bearer {ok(api.post('/keys', {'role': role}), 201)['key']}"}


@pytest.mark.row("X9")
def test_a_key_that_holds_its_share_is_refused_and_others_go_on(start_service: Callable[..., Service]) -> None:
    service = start_service(pool_size=4, worker=False, deadlines={"lock": 600, "read": 600})
    with new_api(service) as api, ThreadPoolExecutor(3) as pool:
        greedy, other = key_of(api), key_of(api)
        with standing_still(api) as waiting:
            sent = [pool.submit(lambda: api.service.client(**greedy).get("/memories")) for _ in range(2)]
            eventually(lambda: waiting() == 2)
            wait_shortly(service)
            refused = api.client.get("/memories", headers=greedy)
            assert (
                "this key has reached its limit of requests in the database (2)"
                in problem(refused, 429, "too-many-at-once")["detail"]
            )
            assert int(refused.headers["retry-after"]) >= 1
            ok(api.client.get("/agents/me", headers=other))
            assert service.client().get("http://loci/readyz").status_code == 200
        assert [one.result().status_code for one in sent] == [200, 200]
        ok(api.client.get("/memories", headers=greedy))


@pytest.mark.row("X9")
def test_a_namespace_that_holds_its_share_leaves_the_rest_to_others(start_service: Callable[..., Service]) -> None:
    shares = {"namespace_share_among_others": 1.0}  # that others asked a moment before is no matter
    service = start_service(pool_size=4, worker=False, limits=shares, deadlines={"lock": 600, "read": 600})
    with new_api(service) as api, new_api(service) as others, ThreadPoolExecutor(3) as pool:
        keys = [key_of(api) for _ in range(4)]
        with standing_still(api) as waiting:
            for key in keys[:3]:
                ok(api.client.get("/edges", headers=key))
            sent = [pool.submit(lambda key=key: api.client.get("/memories", headers=key)) for key in keys[:3]]
            eventually(lambda: waiting() == 3)
            wait_shortly(service)
            refused = problem(api.client.get("/memories", headers=keys[3]), 429, "too-many-at-once")
            assert "this namespace has reached its limit of requests in the database (3)" in refused["detail"]
            ok(others.get("/agents/me"))
        assert [one.result().status_code for one in sent] == [200] * 3


@pytest.mark.anyio
async def test_a_caller_beyond_its_share_holds_up_nobody_behind() -> None:
    shares = PoolQuota(4, ShareLimits(wait=60), clock=lambda: 0.0)
    greedy, other = shares.list_names(b"greedy", "a"), shares.list_names(b"other", "b")
    await shares.take_place(greedy)
    await shares.take_place(greedy)
    waiting = asyncio.ensure_future(shares.take_place(greedy))
    await asyncio.sleep(0)
    await shares.take_place(other)
    assert not waiting.done()
    shares.give_back(other)
    assert not waiting.done()
    shares.give_back(greedy)
    await waiting


@pytest.mark.anyio
async def test_a_caller_that_leaves_the_line_takes_nothing_along() -> None:
    shares = PoolQuota(2, ShareLimits(wait=60, waiting=2))
    names = shares.list_names(b"key", "a")
    await shares.take_place(names)
    line = [asyncio.ensure_future(shares.take_place(names)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyAtOnce):
        await shares.take_place(names)
    line[0].cancel()
    shares.give_back(names)  # lets in the one that has just been cancelled, or the next
    line[1].cancel()
    await asyncio.gather(*line, return_exceptions=True)
    await asyncio.wait_for(shares.take_place(names), 1)


@pytest.mark.anyio
async def test_a_key_that_names_no_namespace_counts_where_it_leads() -> None:
    shares = PoolQuota(4, ShareLimits())
    assert shares.list_names(b"key", None) != shares.list_names(b"key", "home")
    shares.learn_home(b"key", "home")
    assert shares.list_names(b"key", None) == shares.list_names(b"key", "home")


@pytest.mark.anyio
async def test_a_heavy_caller_has_one_connection_while_others_ask_and_its_share_afterwards() -> None:
    now = 0.0
    shares = PoolQuota(10, ShareLimits(wait=60), clock=lambda: now)
    busy, other = shares.list_names(b"busy", "a"), shares.list_names(b"other", "b")
    for _ in range(5):  # alone, half of the pool
        await shares.take_place(busy)
    now = 10.0
    await shares.take_place(other)
    shares.give_back(other)
    for _ in range(4):
        shares.give_back(busy)
    waiting = asyncio.ensure_future(shares.take_place(busy))
    await asyncio.sleep(0)
    assert not waiting.done()  # it holds one, held five on average, and another has just asked
    await shares.take_place(other)
    await shares.take_place(other)  # who holds little on average has several at a time
    for names in (other, other, busy):
        shares.give_back(names)
    await waiting
    now = 12.0  # the other has not asked for two seconds
    for _ in range(4):
        await asyncio.wait_for(shares.take_place(busy), 1)


@pytest.mark.anyio
async def test_a_waiting_caller_is_let_in_once_others_have_stopped_asking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(
        "db.pool_quota.ACTIVE_SECONDS", 0.02
    )  # how often the line is looked at; how long ago others asked, `now` says
    shares = PoolQuota(10, ShareLimits(wait=PATIENCE), clock=lambda: now)
    busy, other = shares.list_names(b"busy", "a"), shares.list_names(b"other", "b")
    await shares.take_place(busy)
    now = 100.0
    await shares.take_place(other)
    shares.give_back(other)
    line = [asyncio.ensure_future(shares.take_place(busy)) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in line)  # the other has asked just now
    now = 200.0
    await asyncio.wait_for(asyncio.gather(*line), PATIENCE)


@pytest.mark.anyio
async def test_a_busy_caller_is_served_at_low_priority_while_others_ask() -> None:
    now = 0.0
    shares = PoolQuota(10, ShareLimits(), clock=lambda: now)
    busy, other = shares.list_names(b"busy", "a"), shares.list_names(b"other", "b")
    await shares.take_place(busy)
    await shares.take_place(other)
    now = 0.1
    shares.give_back(other)
    assert not shares.stands_back(busy)  # it has only begun
    now = 0.9
    assert shares.stands_back(busy)
    assert not shares.stands_back(other)
    now = 1.2  # the other has not asked for a second
    assert not shares.stands_back(busy)
    await shares.take_place(other)
    assert shares.stands_back(busy)
    shares.give_back(busy)
    now = 10.0  # it has rested
    assert not shares.stands_back(busy)


def niceness_of(pid: int) -> tuple[int, str]:
    """Of a process, and of the group that the scheduler counts it in, where it has groups of sessions."""
    group = Path(f"/proc/{pid}/autogroup")
    return os.getpriority(os.PRIO_PROCESS, pid), group.read_text().split()[-1] if group.exists() else ""


@pytest.mark.row("X9")
@own_sessions
def test_processes_of_low_priority_callers_are_behind_those_of_others(
    start_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = {"key_share_among_others": 1.0, "namespace_share_among_others": 1.0}
    service = start_service(pool_size=8, worker=False, limits=shares, deadlines={"lock": 600, "read": 600})
    with new_api(service) as api, new_api(service) as others, ThreadPoolExecutor(6) as pool:
        busy, other = key_of(api), key_of(others)
        monkeypatch.setattr("db.pool_quota.BUSY_CONNECTIONS", {"key": 10.0, "namespace": 10.0})
        with standing_still(api) as waiting:
            sent = [pool.submit(lambda: others.client.get("/memories", headers=other))]
            eventually(lambda: waiting() == 1)
            before = at_work(service)
            monkeypatch.setattr("db.pool_quota.BUSY_CONNECTIONS", {"key": 0.0, "namespace": 10.0})
            for count in (2, 3, 4):
                sent.append(pool.submit(lambda: api.client.get("/memories", headers=busy)))
                eventually(lambda count=count: waiting() == count)
            classes = [niceness_of(pid) for pid in at_work(service) if pid not in before]
        assert {niceness_of(pid) for pid in before} <= {(own := os.getpriority(os.PRIO_PROCESS, 0), "0"), (own, "")}
        # two places behind the others; for a third request there is none there
        assert sorted(nice for nice, _ in classes) == [own, 10, 10]
        assert sorted(group for _, group in classes if group) in ([], ["0", "10", "10"])
        assert [one.result().status_code for one in sent] == [200] * 4


def at_work(service: Service) -> list[int]:
    """The processes of the server that wait to read memories."""
    with service.database.admin() as admin:
        return [pid for (pid,) in admin.execute(LOCKED.replace("select from", "select pid from"))]


@own_sessions
@pytest.mark.parametrize("queue", ["loci_data.name_queue", "loci_data.embedding_queue"])
def test_names_and_vectors_are_made_behind_requests(service: Service, queue: str) -> None:
    waiting = f"select pid from pg_locks where relation = %s::regclass {HERE}"
    with service.database.admin() as watcher, service.database.admin() as locker, locker.transaction(force_rollback=True):
        locker.execute(f"lock table {queue} in access exclusive mode")
        eventually(lambda: {niceness_of(pid) for (pid,) in watcher.execute(waiting, [queue])} & {(5, "5"), (5, "")})
