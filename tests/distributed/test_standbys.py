"""Reads go to standbys that have what the reader wrote, and never show a moment from before it."""

import asyncio
import gc
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from psycopg_pool import PoolClosed

from db.pool import make_pool
from db.standbys import Standbys
from service.cli.doctor import examine_installation
from service.deferred_writes import PrimaryWriteQueue
from service.observability.metrics import NOTES_LOST
from service.settings import Settings
from tests.distributed.servers import Node, Servers, running_servers
from tests.faults.test_http_processes import Group, kill
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve

pytestmark = pytest.mark.release
POSITION, SERVER = "X-Loci-Position", "X-Loci-Server"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """A primary with two standbys."""
    with running_servers(2) as made:
        yield made


@pytest.fixture(scope="module")
def served(servers: Servers) -> Iterator[Service]:
    """A service over them that waits for no standby, so that a test decides what one has."""
    with serve(servers.database, read_url=servers.read_url(), read_wait=0.0, max_staleness=600.0) as service:
        eventually(lambda: all(each.up for each in service.app.state.loci.reads.standbys.standbys))
        yield service


@pytest.fixture
def api(served: Service, servers: Servers) -> Iterator[Api]:
    """A namespace that the standbys have, of a writer whom the service has forgotten."""
    with new_api(served) as made:
        servers.caught_up()
        known = served.app.state.loci.reads
        eventually(lambda: all(known.standbys.seconds_behind(each) < 1 for each in known.standbys.standbys))
        known._written.clear()
        yield made


def forget(served: Service) -> None:
    """As if the next request came to another process."""
    served.app.state.loci.reads._written.clear()


def server_of(response: httpx.Response) -> str:
    return response.headers[SERVER]


@pytest.mark.quick
def test_reads_are_answered_by_standbys_and_writes_by_the_primary(api: Api, servers: Servers) -> None:
    wrote = api.post("/memories", {"content": "The tide tables are in the harbour office"})
    assert (wrote.status_code, server_of(wrote)) == (201, "primary")
    assert POSITION in wrote.headers
    servers.caught_up()
    read = api.client.get("/memories", headers={POSITION: wrote.headers[POSITION]})
    eventually(lambda: server_of(api.client.get("/memories", headers={POSITION: wrote.headers[POSITION]})) == "standby")
    assert [each["content"] for each in ok(read)["items"]] == ["The tide tables are in the harbour office"]
    asked = api.post("/recall", {"query": "tide tables"})
    assert server_of(asked) == "standby"
    assert [each["content"] for each in ok(asked)["results"]] == ["The tide tables are in the harbour office"]


@pytest.mark.quick
@pytest.mark.row("X12")
def test_a_read_that_carries_a_position_is_never_answered_from_before_it(api: Api, served: Service, servers: Servers) -> None:
    for each in servers.standbys:
        each.hold_replay()
    try:
        wrote = api.post("/memories", {"content": "The lighthouse was painted red"})
        forget(served)
        stale = api.client.get("/memories")
        assert (server_of(stale), ok(stale)["items"]) == ("standby", [])
        fresh = api.client.get("/memories", headers={POSITION: wrote.headers[POSITION]})
        assert (server_of(fresh), [each["content"] for each in ok(fresh)["items"]]) == (
            "primary",
            ["The lighthouse was painted red"],
        )
    finally:
        for each in servers.standbys:
            each.let_replay()


def test_one_key_sees_its_own_writes_through_one_process_without_carrying_a_position(api: Api, servers: Servers) -> None:
    for each in servers.standbys:
        each.hold_replay()
    try:
        api.write("The bell buoy has moved")
        read = api.client.get("/memories")
        assert (server_of(read), len(ok(read)["items"])) == ("primary", 1)
    finally:
        for each in servers.standbys:
            each.let_replay()
    eventually(lambda: server_of(api.client.get("/memories")) == "standby")


def test_a_read_waits_a_little_for_the_write_that_it_must_show(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.standbys.ANSWER_SECONDS", PATIENCE)  # none is left out for being slow
    with serve(servers.database, read_url=servers.read_url(), max_staleness=600.0) as service, new_api(service) as api:
        known = service.app.state.loci.reads.standbys
        known._wait = PATIENCE
        eventually(
            lambda: all(known.seconds_behind(each) < 600 for each in known.standbys)
        )  # where the primary's log is is known, too
        for nth in range(20):
            api.write(f"Sounding {nth} was taken")
            read = api.client.get("/memories", params={"limit": 100})
            assert (server_of(read), len(ok(read)["items"])) == ("standby", nth + 1)


def test_reads_ahead_of_a_standby_go_to_the_primary(api: Api, served: Service, servers: Servers) -> None:
    for each in servers.standbys:
        each.hold_replay()
    try:
        made = api.write("The pilot boat is called Gannet")
        forget(served)
        found = api.client.get(f"/memories/{made['id']}")
        assert (found.status_code, server_of(found)) == (200, "primary")
        missing = api.client.get("/memories/00000000-0000-7000-8000-000000000000")
        assert (missing.status_code, server_of(missing)) == (404, "primary")
    finally:
        for each in servers.standbys:
            each.let_replay()


@pytest.mark.quick
@pytest.mark.row("X12")
def test_a_no_says_which_server_said_it_and_none_where_none_did(api: Api) -> None:
    eventually(lambda: server_of(api.client.get("/memories")) == "standby")
    for refused, status, server in (
        (api.client.get("/entities/Nobody"), 404, "primary"),
        (api.client.get("/memories", headers={"X-Namespace": "nowhere"}), 404, "primary"),
        (api.client.get("/memories", headers={"Authorization": "Bearer loci_wrong"}), 401, None),
        (api.post("/edges", {"source": "Ann", "type": "knows", "target": "Bob", "memory_id": str(UUID(int=5))}), 422, "primary"),
        (api.client.get("/entities", params={"cursor": "x"}), 422, "standby"),
        (api.post("/recall", {"query": ""}), 422, None),
    ):
        assert (refused.status_code, refused.headers.get(SERVER)) == (status, server), refused.text


@pytest.mark.row("X12")
def test_a_recall_on_a_standby_is_logged_and_can_be_rated(api: Api, servers: Servers) -> None:
    made = api.write("The ferry leaves at seven")
    servers.caught_up()
    eventually(lambda: server_of(api.post("/recall", {"query": "ferry"})) == "standby")
    asked = api.post("/recall", {"query": "When does the ferry leave?", "log": True, "session_id": "pier"})
    assert server_of(asked) == "standby"
    recall = ok(asked)["recall_id"]
    eventually(lambda: api.client.get(f"/recalls/{recall}").status_code == 200)
    kept = ok(api.client.get(f"/recalls/{recall}"))
    assert (kept["query"], [each["memory_id"] for each in kept["memories"]]) == ("When does the ferry leave?", [made["id"]])


def test_the_end_of_a_session_counts_what_a_standby_found_just_before(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    async def later(_: PrimaryWriteQueue) -> None:
        """Whoever writes what reads note has not come to it."""

    monkeypatch.setattr(PrimaryWriteQueue, "write_until_end", later)
    monkeypatch.setattr("db.standbys.ANSWER_SECONDS", PATIENCE)  # none is left out for being slow
    with serve(servers.database, read_url=servers.read_url(), max_staleness=600.0) as service, new_api(service) as api:
        made = api.write("The ferry leaves at seven")
        ok(api.post("/feedback", {"session_id": "pier", "injected": [made["id"]]}))
        servers.caught_up()
        eventually(lambda: server_of(api.post("/recall", {"query": "ferry", "log": False})) == "standby")
        asked = api.post("/recall", {"query": "ferry", "log": False, "session_id": "pier"})
        assert server_of(asked) == "standby"
        assert ok(api.post("/sessions/pier/end"))["hit"] == 1


@pytest.mark.row("X12")
def test_notes_of_reads_outlive_the_primary_and_are_lost_with_the_process_or_beyond_their_number(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(servers.database, read_url=servers.read_url(), max_staleness=600.0) as service, new_api(service) as api:
        reads = service.app.state.loci.reads
        api.write("The ferry leaves at seven")
        servers.caught_up()
        eventually(lambda: server_of(api.post("/recall", {"query": "ferry", "log": False})) == "standby")

        def recalled(times: int) -> list[str]:
            asked = [api.post("/recall", {"query": "ferry", "log": True}) for _ in range(times)]
            assert {server_of(each) for each in asked} == {"standby"}
            return [ok(each)["recall_id"] for each in asked]

        def logged() -> set[str]:
            return {each["id"] for each in ok(api.get("/recalls", limit=100))["items"]}

        before = recalled(3)
        eventually(lambda: not reads.notes._some.is_set())  # acknowledged: what is under way waits no more, and may be committed
        servers.primary.kill()
        try:
            kept = recalled(5)
            monkeypatch.setattr("service.deferred_writes.MOST_WAITING_NOTES", 8)
            lost = NOTES_LOST._value.get()
            kept += recalled(6)
        finally:
            servers.primary.start()
        eventually(lambda: set(kept[-8:]) <= logged())
        assert logged() <= {*before, *kept}  # one may have been under way when it was the oldest
        assert len({*before, *kept} - logged()) == NOTES_LOST._value.get() - lost > 0


def test_a_service_that_is_killed_loses_no_notes_but_those_the_primary_has_not_taken(servers: Servers, tmp_path: Path) -> None:
    stated = {"LOCI_READ_URL": servers.read_url(), "LOCI_MAX_STALENESS": "600", "LOCI_EMBEDDING__PROVIDER": "none"}
    group = Group(servers.database, tmp_path, 1, **stated)
    try:
        with group.client(headers={"X-Namespace": "killed"}) as client:
            ok(client.post("/namespaces", json={"name": "killed"}), 201)
            servers.caught_up()

            def recalled() -> str | None:
                asked = client.post("/recall", json={"query": "ferry", "log": True})
                return ok(asked)["recall_id"] if server_of(asked) == "standby" else None

            eventually(recalled)
            count = "select count(*) from loci_data.recalls where id = any (%s)"
            first = [recalled() for _ in range(10)]
            with servers.database.admin() as admin:
                eventually(lambda: admin.execute(count, [first]).fetchone() == (10,))
                admin.execute("begin")
                admin.execute("lock table loci_data.recalls in exclusive mode")  # the primary takes none now
                last = [recalled() for _ in range(3)]
                group.end(signal.SIGKILL)
                admin.execute("rollback")
                assert admin.execute(count, [first]).fetchone() == (10,)
                assert None not in last
                assert admin.execute(count, [last]).fetchone() in {(n,) for n in range(4)}
    finally:
        kill(group.process)


def test_an_export_comes_from_a_standby(api: Api, servers: Servers) -> None:
    api.write("The chart of 1911 hangs in the hall")
    servers.caught_up()
    eventually(lambda: server_of(api.client.get("/memories")) == "standby")
    told = api.client.get(f"/namespaces/{api.namespace}/export")
    assert "The chart of 1911 hangs in the hall" in told.text
    assert server_of(told) == "standby"
    missing = api.client.get("/namespaces/nowhere/export")
    assert (missing.status_code, server_of(missing)) == (404, "primary")
    for each in servers.standbys:
        each.hold_replay()
    try:
        api.write("And that of 1912 in the cellar")
        told = api.client.get(f"/namespaces/{api.namespace}/export")
        assert ("And that of 1912 in the cellar" in told.text, server_of(told)) == (True, "primary")
    finally:
        for each in servers.standbys:
            each.let_replay()


@pytest.mark.parametrize("stated", ["yesterday", "", "0/", "0/5G", "0/5 A", "-1/0", "0/123456789", "0/1, 0/2", "0\\1"])
def test_a_position_that_is_none_is_refused(served: Service, stated: str) -> None:
    with served.client() as client:
        refused = client.get("/memories", headers={POSITION: stated})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error == {"field": POSITION, "message": "must be a position as a reply had it, such as 0/5A3F1C8"}


def test_none_of_two_positions_is_chosen(served: Service) -> None:
    with served.client() as client:
        refused = client.get("/memories", headers=[(POSITION, "0/1"), (POSITION, "FF/1")])
    assert (refused.status_code, refused.json()["errors"][0]["message"]) == (422, "must be sent once")


@pytest.mark.row("X12")
def test_a_position_beyond_the_log_waits_for_nobody_and_asks_no_standby(servers: Servers) -> None:
    with serve(servers.database, read_url=servers.read_url(), read_wait=10.0) as service, new_api(service) as api:
        known = service.app.state.loci.reads.standbys
        known._wait = 2 * PATIENCE
        eventually(lambda: all(each.up for each in known.standbys))
        lent = [each.pool.get_stats().get("requests_num", 0) for each in known.standbys]
        for absurd in ("FFFFFFFF/FFFFFFFF", "FF/0") * 5:
            read = api.client.get("/memories", headers={POSITION: absurd})  # which would be given up if it waited
            assert (read.status_code, server_of(read)) == (200, "primary")
        assert [each.pool.get_stats().get("requests_num", 0) for each in known.standbys] == lent


def test_many_who_wait_for_a_standby_ask_it_once(servers: Servers) -> None:
    with serve(servers.database, read_url=servers.standbys[0].url("loci_app"), read_wait=1.0) as service, new_api(service) as api:
        (standby,) = service.app.state.loci.reads.standbys.standbys
        eventually(lambda: standby.up)
        servers.standbys[0].hold_replay()
        try:
            position = api.post("/memories", {"content": "The weir was opened"}).headers[POSITION]
            lent = standby.pool.get_stats().get("requests_num", 0)
            with ThreadPoolExecutor(20) as pool:
                read = list(pool.map(lambda _: api.client.get("/memories", headers={POSITION: position}), range(20)))
            assert {server_of(each) for each in read} == {"primary"}
            assert standby.pool.get_stats().get("requests_num", 0) == lent
        finally:
            servers.standbys[0].let_replay()


@pytest.mark.row("X12")
def test_an_old_position_is_no_way_to_a_standby_that_is_further_behind_than_is_allowed(servers: Servers) -> None:
    with serve(servers.database, read_url=servers.read_url(), max_staleness=0.5) as service, new_api(service) as api:
        known = service.app.state.loci.reads.standbys
        eventually(lambda: all(each.up for each in known.standbys))
        old = api.post("/memories", {"content": "Neap tide"}).headers[POSITION]
        servers.caught_up()
        for each in servers.standbys:
            each.hold_replay()
        try:
            api.write("Spring tide")
            forget(service)
            eventually(lambda: all(known.seconds_behind(each) > 0.5 for each in known.standbys))
            for stated in (old, "0/1"):
                read = api.client.get("/memories", headers={POSITION: stated})
                assert (server_of(read), len(ok(read)["items"])) == ("primary", 2)
        finally:
            for each in servers.standbys:
                each.let_replay()


@pytest.mark.row("X12")
def test_a_key_that_is_revoked_reads_from_a_standby_no_longer_than_it_may_be_behind(servers: Servers) -> None:
    with serve(servers.database, read_url=servers.read_url(), max_staleness=0.5) as service, new_api(service) as api:
        known = service.app.state.loci.reads.standbys
        eventually(lambda: all(each.up for each in known.standbys))
        key = ok(api.post("/keys", {"role": "reader", "name": "guest"}), 201)
        servers.caught_up()
        asked = {"Authorization": f"Bearer {key['key']}", "X-Namespace": api.namespace}
        eventually(lambda: server_of(api.client.get("/memories", headers=asked)) == "standby")
        for each in servers.standbys:
            each.hold_replay()
        try:
            assert api.client.delete(f"/keys/{key['id']}").status_code == 204
            eventually(lambda: all(known.seconds_behind(each) > 0.5 for each in known.standbys))
            assert api.client.get("/memories", headers={**asked, POSITION: "0/1"}).status_code == 401
        finally:
            for each in servers.standbys:
                each.let_replay()


@pytest.mark.quick
def test_a_standby_shows_nobody_the_namespace_of_another(served: Service, api: Api, servers: Servers) -> None:
    api.write("Only for the pilots")
    with new_api(served) as other:
        key = ok(other.post("/keys", {"role": "admin", "name": "stranger"}), 201)
        servers.caught_up()
        with psycopg.connect(servers.standbys[0].url("loci_app")) as connection:
            assert connection.execute("select count(*) from loci_data.memories").fetchone() == (0,)
        asked = {"Authorization": f"Bearer {key['key']}"}
        eventually(lambda: server_of(other.client.get("/memories", headers=asked)) == "standby")
        assert ok(other.client.get("/memories", headers=asked))["items"] == []
        refused = other.client.get("/memories", headers={**asked, "X-Namespace": api.namespace})
        everywhere = other.client.post("/recall", json={"query": "pilots", "namespaces": "*"}, headers=asked)
    assert refused.status_code in {403, 404}
    assert ok(everywhere)["results"] == []


def test_the_answer_says_which_kind_of_server_gave_it(api: Api, servers: Servers) -> None:
    api.write("The crane lifts forty tons")
    servers.caught_up()
    eventually(lambda: server_of(api.client.get("/memories")) == "standby")
    for path, body in (("/recall", {"query": "crane", "explain": True}), ("/context", {"message": "crane"})):
        reply = api.post(path, body)
        assert (ok(reply)["server"], server_of(reply)) == ("standby", "standby")
    reply = api.post("/context", {"message": "crane", "session_id": "quay"})
    assert (ok(reply)["server"], server_of(reply)) == ("primary", "primary")


def test_a_standby_all_of_whose_connections_are_lent_is_not_left_out(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.standbys.ANSWER_SECONDS", 30.0)
    url = servers.standbys[0].url("loci_app")

    async def seen() -> list[bool]:
        async with (
            make_pool(servers.database.app_url, size=1) as primary,
            make_pool(url, size=1, standby=True) as pool,
            make_pool(url, size=1, standby=True) as watcher,
        ):
            known = Standbys(primary, [(url, pool, watcher)], staleness=1.0, wait=0.0)
            (standby,) = known.standbys
            await standby.ask_position()
            watching = asyncio.create_task(known.watch_standby(standby))
            found = []
            async with pool.connection():
                for _ in range(3):
                    await standby.looks._answered.wait()
                    found.append(standby.up)
            watching.cancel()
            return found

    assert asyncio.run(seen()) == [True] * 3


@pytest.mark.row("X12")
def test_a_standby_that_does_not_answer_is_left_out_and_taken_back(served: Service, api: Api, servers: Servers) -> None:
    known = served.app.state.loci.reads.standbys
    eventually(lambda: all(each.up for each in known.standbys))
    first = servers.standbys[0]
    first.pause()
    try:
        for _ in range(4):  # each is answered, also one that was on its way there
            ok(api.client.get("/memories"))
        eventually(lambda: not known.standbys[0].up)
        eventually(lambda: server_of(api.client.get("/memories")) == "standby")  # the other one, once it has what the primary said
    finally:
        first.resume()
    eventually(lambda: known.standbys[0].up)


@pytest.mark.parametrize("end", ["stands still", "is killed"])
def test_readers_are_all_answered_in_time_when_their_standby_goes_away_under_them(end: str) -> None:
    """Many ask one standby at once when it goes: each is answered by it or by the primary, within the deadline of a read."""
    deadline, ended, seen = 15.0, threading.Event(), list[tuple[int, str | None, float]]()
    with (
        running_servers(1) as servers,
        serve(servers.database, read_url=servers.read_url(), max_staleness=600.0, deadlines={"read": deadline}) as service,
        new_api(service) as api,
    ):
        api.write("The ferry leaves at seven")
        servers.caught_up()
        eventually(lambda: server_of(api.client.get("/memories")) == "standby")

        def read(nth: int) -> None:
            with service.client(**{"X-Namespace": api.namespace}) as client:
                while not ended.is_set():
                    began = time.monotonic()
                    reply = client.post("/recall", json={"query": "ferry"}) if nth % 2 else client.get("/memories")
                    seen.append((reply.status_code, reply.headers.get(SERVER), time.monotonic() - began))

        readers = [threading.Thread(target=read, args=(nth,)) for nth in range(8)]
        for each in readers:
            each.start()
        try:
            eventually(lambda: sum(server == "standby" for _, server, _ in list(seen)) > 8)
            gone = len(seen)
            (standby,) = servers.standbys
            standby.pause() if end == "stands still" else standby.kill()
            eventually(lambda: sum(server == "primary" for _, server, _ in seen[gone:]) > 40)
        finally:
            ended.set()
            for each in readers:
                each.join(PATIENCE)
            if end == "stands still":
                standby.resume()
    assert {status for status, _, _ in seen} == {200}
    assert max(took for _, _, took in seen) < deadline


def test_a_standby_is_left_out_before_the_question_to_it_is_given_up(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    url = servers.standbys[0].url("loci_app")

    async def seen() -> bool:
        async with make_pool(servers.database.app_url, size=1) as primary, make_pool(url, size=1, standby=True) as pool:
            known = Standbys(primary, [(url, pool, pool)], staleness=1.0, wait=0.0)
            (standby,) = known.standbys
            await standby.ask_position()
            given_up = asyncio.Event()

            async def stands_still() -> None:
                await asyncio.shield(given_up.wait())

            monkeypatch.setattr("db.standbys.ANSWER_SECONDS", 0.01)
            monkeypatch.setattr(standby, "ask_position", stands_still)
            watching = asyncio.create_task(known.watch_standby(standby))
            async with asyncio.timeout(PATIENCE):
                while standby.up:
                    await standby.looks._answered.wait()
            under_way = not watching.done() and not given_up.is_set()
            given_up.set()
            watching.cancel()
            return under_way

    assert asyncio.run(seen())


def test_questions_that_nobody_waits_for_any_more_end_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a service ends: their pools are closed below them, and what they raise is no error in its log."""
    heard: list[dict[str, Any]] = []

    async def closed() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise PoolClosed from None

    async def given_up() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
        pool = make_pool("postgresql://nowhere", size=1)
        known = Standbys(pool, [("postgresql://nowhere", pool, pool)], staleness=1.0, wait=0.0)
        (standby,) = known.standbys
        monkeypatch.setattr(standby, "ask_position", closed)
        for asking in (known.watch_standby(standby), standby.run_while_in_use(closed())):
            task = asyncio.create_task(asking)
            for _ in range(2):
                await asyncio.sleep(0)  # it has asked
            task.cancel()
            await asyncio.wait({task})
        for _ in range(2):
            await asyncio.sleep(0)  # what was asked has ended
        gc.collect()

    asyncio.run(given_up())
    assert heard == []


def test_without_any_standby_that_is_near_enough_the_primary_answers(servers: Servers) -> None:
    with serve(servers.database, read_url=servers.read_url(), max_staleness=0.5) as service, new_api(service) as api:
        known = service.app.state.loci.reads.standbys
        eventually(lambda: all(each.up for each in known.standbys))
        for each in servers.standbys:
            each.hold_replay()
        try:
            api.write("Spring tide")
            forget(service)
            eventually(lambda: all(known.seconds_behind(each) > 0.5 for each in known.standbys))
            assert server_of(api.client.get("/memories")) == "primary"
        finally:
            for each in servers.standbys:
                each.let_replay()


@pytest.mark.row("X12")
def test_doctor_says_of_each_standby_whether_it_answers_and_how_far_it_is_behind(servers: Servers) -> None:
    def said(*nodes: Node, staleness: float = 5.0, primary: Node | None = None) -> list[tuple[bool, str]]:
        urls = [each.url("loci_app") for each in nodes]
        stated: dict[str, Any] = {"read_url": urls, "max_staleness": staleness, "port": 1, "embedding": {"provider": "none"}}
        found = asyncio.run(examine_installation(Settings(_env_file=None, **stated), (primary or servers.primary).url("loci_app")))
        checks = [check for check in found if check.name.startswith("standby ")]
        assert [check.name for check in checks] == [f"standby {nth + 1}:127.0.0.1:{each.port}" for nth, each in enumerate(nodes)]
        return [(check.ok, check.detail) for check in checks]

    held, paused = servers.standbys
    nobody = Node(paused.folder)
    near, itself = said(held, servers.primary)
    assert near[0], near
    assert re.fullmatch(r"is a standby, at most \d\.\d s behind", near[1]), near
    assert itself == (False, "is no standby: it takes writes itself; reads leave it out")
    more = "select pg_logical_emit_message(true, 'doctor', repeat('x', 50000))"
    servers.primary.value(more)
    servers.caught_up()
    held.hold_replay()
    paused.pause()
    try:
        servers.primary.value(more)
        behind, silent, gone = said(held, paused, nobody, staleness=0.3)
        assert not any(ok for ok, _ in (behind, silent, gone))
        lacks = r"it lacks [\d,]{6,} bytes of log, and has what was committed until .* UTC; reads leave it out"
        assert re.fullmatch(rf"is a standby, more than \d\.\d s behind: {lacks}", behind[1]), behind
        assert silent[1].startswith("does not answer: ")
        assert gone[1].startswith("does not answer: ")
    finally:
        held.let_replay()
        paused.resume()
    alone = "is a standby; how far it is behind is not known while the primary does not answer"
    assert said(held, primary=nobody) == [(True, alone)]


@pytest.mark.row("X12")
def test_a_service_whose_servers_are_all_gone_ends_when_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.jobs.queue.WAITS", 1.0)  # for a connection, as the service ends
    with running_servers(1) as servers:
        with serve(servers.database, read_url=servers.read_url(), max_staleness=1.0) as service, new_api(service) as api:
            eventually(lambda: SERVER in api.client.get("/memories").headers)
            for each in (servers.primary, *servers.standbys):
                each.kill()
            service.app.state.loci.pool.timeout = 0.5  # nobody will come back
            eventually(lambda: api.client.get("/memories").status_code == 503)
            told = time.monotonic()
        assert time.monotonic() - told < PATIENCE / 2


def test_a_read_that_no_server_answers_in_time_names_none(servers: Servers) -> None:
    stated = {"read_url": servers.read_url(), "max_staleness": 600.0, "deadlines": {"read": 1.0}}
    with serve(servers.database, worker=False, **stated) as service, new_api(service) as api:
        eventually(lambda: api.client.get("/memories").headers.get(SERVER) == "standby")  # some may go to the primary before
        everybody = (servers.primary, *servers.standbys)
        for each in everybody:
            each.pause()
        try:
            late = api.client.get("/memories")
        finally:
            for each in everybody:
                each.resume()
        assert (late.status_code, late.headers.get(SERVER)) == (504, None)
