"""The primary goes away and a standby takes its place: services find it, what was acknowledged is there, and jobs are done once.

`LOCI_FAILOVERS=50 python -m pytest -s …` does it as often, and prints how long it took each time until things went on.
"""

import asyncio
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest

from db.pool import position_of, primary_url
from service.cli.doctor import examine_installation
from service.settings import Settings
from service.worker.handlers import HANDLERS
from tests.clocks import FAR
from tests.databases import Database
from tests.distributed.servers import Node, Servers, running_servers
from tests.faults.job_workers import EFFECTS, QUICK, Jobs, two_steps
from tests.llm.model_server import Request, model_server
from tests.services import Api, eventually, new_api, ok, serve

pytestmark = pytest.mark.release

ROUNDS = int(os.environ.get("LOCI_FAILOVERS", "2"))
AGAIN = {429, 503}  # what a reply says that has not been done, and may be asked for again
OPEN = 8  # jobs that wait or run at a time
TABS = "User prefers tabs for indentation"


class Loop:
    """Does something one after the other until told to stop; what was acknowledged, and what was not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acknowledged: list[str] = []
        self.open: list[str] = []  # no reply, or one that says to try again
        self.times: list[float] = []  # of the acknowledgements
        self.failure: BaseException | None = None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        """Go on until stopped."""
        nth = 0
        try:
            while not self.stop.is_set():
                nth += 1
                self.once(nth)
        except BaseException as error:
            self.failure = error

    def once(self, nth: int) -> None:
        """Do it for the nth time."""
        raise NotImplementedError

    def note(self, what: str, *, acknowledged: bool) -> None:
        """How it ended."""
        if acknowledged:
            self.acknowledged.append(what)
            self.times.append(time.monotonic())
        else:
            self.open.append(what)
            time.sleep(0.05)

    def after(self, moment: float) -> float:
        """Seconds from a moment to the first acknowledgement after it; 0: none yet."""
        return next((each - moment for each in self.times if each > moment), 0.0)

    def end(self) -> None:
        """Stop, and raise what went wrong."""
        self.stop.set()
        self.thread.join(60)
        if self.failure is not None:
            raise self.failure


def accepted(api: Api, path: str, body: Any, status: int = 201) -> bool:
    """Whether a write was acknowledged; what was not says to try again, or nothing."""
    try:
        reply = api.client.post(path, json=body, timeout=30)
    except httpx.HTTPError:
        return False
    if reply.status_code == status:
        return True
    assert (reply.status_code in AGAIN, "Retry-After" in reply.headers) == (True, True), reply.text
    return False


class Writer(Loop):
    """Writes memories."""

    def __init__(self, api: Api, name: str) -> None:
        super().__init__(name)
        self.api = api

    def once(self, nth: int) -> None:
        """Write one."""
        content = f"{self.name} saw sail {nth}"
        self.note(content, acknowledged=accepted(self.api, "/memories", {"content": content}))
        time.sleep(0.1)  # of four, one is often on its way all the same


class Follower(Loop):
    """Asks for changes."""

    def __init__(self, api: Api) -> None:
        super().__init__("follower")
        self.api = api

    def once(self, nth: int) -> None:
        """Ask once."""
        try:
            reply = self.api.client.get("/changes", params={"after": "0", "limit": 1}, timeout=30)
        except httpx.HTTPError:
            self.note(f"reply {nth}", acknowledged=False)
        else:
            self.note(f"reply {nth}", acknowledged=reply.status_code == 200)
        time.sleep(0.05)


class Speaker(Loop):
    """Says the same in a conversation again and again, and asks for a dream of it."""

    def __init__(self, api: Api) -> None:
        super().__init__("speaker")
        self.api = api

    def once(self, nth: int) -> None:
        """Say it once more."""
        turn = {"role": "user", "content": "Use tabs!"}
        self.note(f"turn {nth}", acknowledged=accepted(self.api, "/conversations/desk/turns", {"turns": [turn]}))
        accepted(self.api, "/dream", {}, 202)
        time.sleep(0.2)


class Asker(Loop):
    """Asks for jobs of two steps, each of which leaves a row; never for so many that their end is long after the last was asked for."""

    def __init__(self, database: Database, namespace: str) -> None:
        super().__init__("asker")
        self.url, self.jobs = database.admin_url, Jobs.__new__(Jobs)
        self.jobs.database, self.jobs.namespace = database, namespace

    def once(self, nth: int) -> None:
        """Ask for one."""
        try:
            self.jobs.connect()
            with self.jobs.admin:
                states = self.jobs.states()
                if states.get("waiting", 0) + states.get("running", 0) >= OPEN:
                    time.sleep(0.1)
                    return
                job = self.jobs.ask("steps", turn=f"turn {nth % 7}")
        except psycopg.OperationalError:
            self.note(f"job {nth}", acknowledged=False)
        else:
            self.note(str(job), acknowledged=True)
        time.sleep(0.1)


def dreamt(request: Request) -> Any:
    """What the model of the dreams says, after a while: every turn that it is shown tells the same."""
    time.sleep(0.2)
    if request.purpose == "preferences":
        turns = [turn["turn"] for each in request.data["conversations"] for turn in each["turns"]]
        said = {"content": TABS, "strength": "strong", "turns": turns, "existing": None, "sensitive": False}
        return {"preferences": [said] if turns else []}
    return {name: [] for name in request.body["response_format"]["json_schema"]["schema"]["properties"]}


def everything(api: Api, path: str) -> list[Any]:
    """All items of a listing."""
    found: list[Any] = []
    cursor = None
    while True:
        page = ok(api.get(path, limit=1000, **({"cursor": cursor} if cursor else {})))
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def read_feed(api: Api, after: str, told: list[str]) -> str:
    """Note contents of memories that the feed tells of, from a place to its end, which is returned."""
    while True:
        reply = api.client.get("/changes", params={"after": after, "limit": 1000})
        if reply.status_code in AGAIN:
            time.sleep(0.1)
            continue
        page = ok(reply)
        told += [each["content"] for each in page["items"] if (each["kind"], each["action"]) == ("memory", "created")]
        after = page["next_cursor"]
        if len(page["items"]) < 1000:
            return after


def confirm(primary: Node) -> None:
    """Acknowledge only what a standby has written down, too."""
    primary.value("alter system set synchronous_standby_names = 'ANY 1 (*)'")
    primary.value("select pg_reload_conf()")
    eventually(lambda: primary.value("select count(*) from pg_stat_replication where sync_state = 'quorum'"))


def fail_over(servers: Servers) -> tuple[float, float]:
    """Kill the primary, promote its standby, and make a new standby where the primary was; when it was promoted, by two clocks."""
    old = servers.fail_over()
    promoted = time.monotonic(), time.time()
    servers.add_standby(Node(servers.folder / f"node{time.monotonic_ns()}", old.port))
    confirm(servers.primary)
    return promoted


@contextmanager
def going(loops: list[Any]) -> Iterator[list[Any]]:
    """Have them run until the end of the block."""
    for each in loops:
        each.thread.start()
    yield loops
    for each in loops:
        each.end()


def went_on(loops: list[Any]) -> None:
    """Wait until each has had an acknowledgement after now."""
    began = time.monotonic()
    eventually(lambda: any(each.failure for each in loops) or all(each.after(began) for each in loops))
    for each in loops:
        if each.failure is not None:
            raise each.failure


def due(servers: Servers, namespace: str) -> None:
    """The dream that is scheduled in a namespace is due since yesterday."""
    of = f"namespace_id = (select id from loci_data.namespaces where name = '{namespace}')"
    eventually(lambda: servers.primary.value(f"select count(*) from loci_data.schedules where {of}"))
    servers.primary.value(f"update loci_data.schedules set due_at = now() - interval '1 day' where {of}")


def finished(api: Api) -> list[Any]:
    """The jobs of a namespace, once none of them waits or runs."""

    def all_of_them() -> list[Any] | None:
        found = everything(api, "/jobs")
        return found if all(each["finished_at"] for each in found) else None

    return eventually(all_of_them)


def show(recoveries: dict[str, list[float]]) -> None:
    """Print how long it took from a promotion until things went on."""
    for name, taken in recoveries.items():
        print(f"{name}: {len(taken)} times, p50 {statistics.median(taken):.2f} s, max {max(taken):.2f} s")  # noqa: T201 (it is asked for)


@pytest.mark.row("X12")
def test_a_promoted_standby_has_all_that_was_acknowledged_the_feed_goes_on_and_jobs_are_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(HANDLERS, "steps", two_steps)
    monkeypatch.setattr("service.worker.worker.SCHEDULE_EVERY", 0.3)
    chance = random.Random(22)
    with running_servers(1) as servers, model_server(dreamt) as endpoint:
        servers.primary.value(EFFECTS)
        confirm(servers.primary)
        everywhere = replace(servers.database, app_url=servers.any_url(), admin_url=primary_url(servers.any_url("postgres")))
        llm = {"endpoint": endpoint.url, "model": "scripted"}
        with (
            serve(everywhere, llm=llm, jobs=QUICK) as service,
            new_api(service) as api,
            new_api(service) as spoken,
            new_api(service) as nightly,
        ):
            ok(nightly.client.patch(f"/namespaces/{nightly.namespace}", json={"settings": {"dream_schedule": FAR}}))
            writers = [Writer(api, name) for name in ("Ann", "Ben", "Cid", "Dot")]
            speaker, asker, follower = Speaker(spoken), Asker(everywhere, spoken.namespace), Follower(api)
            recoveries: dict[str, list[float]] = {"writes": [], "jobs": [], "feed": []}
            told: list[str] = []
            place = read_feed(api, "0", told)
            with going([*writers, speaker, asker, follower]) as loops:
                for nth in range(1, ROUNDS + 1):
                    went_on(loops)
                    due(servers, nightly.namespace)
                    time.sleep(chance.uniform(0, 0.5))
                    promoted, clock = fail_over(servers)
                    place = read_feed(api, place, told)
                    went_on(loops)
                    recoveries["feed"].append(follower.after(promoted))
                    recoveries["writes"].append(max(each.after(promoted) for each in writers))
                    recoveries["jobs"].append(eventually(lambda clock=clock: worked_after(servers, clock)))
                    eventually(lambda nth=nth: len(finished(nightly)) >= nth)
            show(recoveries)
            # skipped: somebody had just set the schedule
            assert {job["state"] for job in finished(nightly)} <= {"succeeded", "skipped"}
            assert len(finished(nightly)) == ROUNDS

            there = [each["content"] for each in everything(api, "/memories")]
            acknowledged = [content for each in writers for content in each.acknowledged]
            possible = set(acknowledged) | {content for each in writers for content in each.open}
            assert len(there) == len(set(there))
            assert set(acknowledged) <= set(there) <= possible
            read_feed(api, place, told)
            assert sorted(told) == sorted(there)

            finished(spoken)
            ok(spoken.post("/dream", {}), 202)
            jobs = {job["id"]: job for job in finished(spoken)}
            assert {job["state"] for job in jobs.values()} == {"succeeded"}
            assert set(asker.acknowledged) <= set(jobs)
            steps = servers.primary.rows("select job::text, step, count(*) from public.effects group by 1, 2")
            asked = [id_ for id_, job in jobs.items() if job["kind"] == "steps"]
            assert sorted(steps) == sorted((id_, step, 1) for id_ in asked for step in ("memories", "last"))
            (known,) = everything(spoken, "/memories")
            assert len(speaker.acknowledged) <= known["metadata"]["occurrences"] <= len(speaker.acknowledged + speaker.open)


def worked_after(servers: Servers, clock: float) -> float | None:
    """Seconds from a moment to the first step of a job done after it."""
    (found,) = servers.primary.rows(
        f"select min(extract(epoch from at)) - {clock} from public.effects where extract(epoch from at) > {clock}"
    )
    return None if found[0] is None else float(found[0])


@pytest.mark.row("X12")
def test_a_standby_that_has_what_the_promoted_one_lacks_is_asked_nothing() -> None:
    with running_servers(2, wal_sender_timeout="600s") as servers:
        promoted, orphan = servers.standbys
        promoted.pause()
        more = "select count(pg_logical_emit_message(false, 'lost', repeat('x', 4000000))) from generate_series(1, 12)"
        servers.primary.value(more)  # than the connection to the one that is paused holds
        end = servers.primary.value("select pg_current_wal_flush_lsn()::text")
        eventually(lambda: orphan.value(f"select pg_last_wal_replay_lsn() >= '{end}'"))
        everywhere = replace(servers.database, app_url=servers.any_url())
        servers.primary.kill()
        promoted.resume()
        promoted.promote()
        with serve(everywhere, read_url=orphan.url("loci_app"), read_wait=0.0) as service, new_api(service) as api:
            (known,) = service.app.state.loci.reads.standbys.standbys
            eventually(lambda: known.up)
            wrote = api.post("/memories", {"content": "The new pilot is called Ruth"})
            assert position_of(wrote.headers["X-Loci-Position"]) < known.replayed  # by the number alone it would have it
            for headers in ({"X-Loci-Position": wrote.headers["X-Loci-Position"]}, {}):
                read = api.client.get("/memories", headers=headers)
                assert (read.headers["X-Loci-Server"], len(ok(read)["items"])) == ("primary", 1)
        stated: dict[str, Any] = {"read_url": [orphan.url("loci_app")], "port": 1, "embedding": {"provider": "none"}}
        found = asyncio.run(examine_installation(Settings(_env_file=None, **stated), promoted.url("loci_app")))
        (told,) = [check for check in found if check.name.startswith("standby ")]
        assert (told.ok, told.detail.startswith("does not follow the primary's log: it is in timeline 1, ")) == (False, True)


def test_a_write_that_no_standby_confirms_in_time_is_not_acknowledged_and_may_be_sent_again() -> None:
    with (
        running_servers(1) as servers,
        serve(servers.database, worker=False, deadlines={"write": 2.0}) as service,
        service.client() as client,
    ):
        api = Api(client, "default", service)
        confirm(servers.primary)
        servers.standbys[0].pause()
        stated = {"json": {"content": "The boom is closed"}, "headers": {"Idempotency-Key": "boom"}}
        refused = api.client.post("/memories", **stated)
        assert refused.status_code == 504
        assert "unless it was being committed" in refused.json()["detail"]
        servers.standbys[0].resume()
        eventually(lambda: api.client.post("/memories", **stated).status_code == 201)
        assert [each["content"] for each in everything(api, "/memories")] == ["The boom is closed"]
