"""Jobs: made in the caller's transaction, one for one key, in states that follow the queue; who may see and touch them."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any
from uuid import UUID

import procrastinate
import psycopg
import pytest
from psycopg import errors as pg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.databases import Database
from tests.factories import World, act_as, grant, new_world

MADE_WITH = "c70ec4b400a60ad9592787653aae5ae77ae41bf801d56b5bd2712751a07f2009"  # procrastinate 3.10, which revision 0001 has run
KINDS = ("dream", "enrich", "contradictions")


def ask(world: World, kind: str = "enrich", **fields: Any) -> UUID:
    row = world.row(
        "select id from loci_api.enqueue_job(%(ns)s, %(kind)s, %(arguments)s, %(key)s, %(turn)s, %(due_at)s)",
        **{"kind": kind, "arguments": Jsonb({}), "key": None, "turn": None, "due_at": None, **fields},
    )
    return row["id"]


def job(world: World, id: UUID) -> dict[str, Any]:
    return world.row("select * from loci.get_job(%(ns)s, %(id)s)", id=id)


@pytest.fixture
def queue(owned: World) -> "Queue":
    """The queue of a namespace, worked by hand."""
    return Queue(owned)


class Queue:
    """What a worker does with the queue, step by step, in the transaction of the test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.worker = self.as_owner("select worker_id as id from procrastinate_register_worker_v1()")["id"]

    def as_owner(self, statement: Any, **parameters: Any) -> dict[str, Any]:
        """Run a statement in the queue's schema."""
        connection = self.world.connection
        connection.execute("reset session authorization")
        connection.execute("set local search_path = loci_jobs")
        row = connection.execute(statement, parameters).fetchone()
        connection.execute("set local search_path to default")
        connection.execute("set session authorization loci_app")
        return row or {}

    def analyze(self) -> None:
        """Count the statistics of the queue anew, as autovacuum does once many have come."""
        connection = self.world.connection
        connection.execute("reset session authorization")
        connection.execute("analyze loci_jobs.procrastinate_jobs, loci_data.jobs")
        connection.execute("set session authorization loci_app")

    def take(self) -> dict[str, Any]:
        """Take the next job; its place in the queue."""
        return self.as_owner("select * from procrastinate_fetch_job_v2(array['loci'], %(worker)s)", worker=self.worker)

    def say(self, place: dict[str, Any], status: str) -> None:
        """Say how a job ended."""
        self.as_owner("select procrastinate_finish_job_v1(%(id)s, %(status)s, false)", id=place["id"], status=status)

    def again(self, place: dict[str, Any], pause: str = "0") -> None:
        """Put it back."""
        self.as_owner(
            "select procrastinate_retry_job_v2(%(id)s, now() + %(pause)s::interval, null, null, null)", id=place["id"], pause=pause
        )

    def begin(self, place: dict[str, Any]) -> dict[str, Any]:
        """What the worker is told of the job."""
        rows = self.world.rows("select * from loci_api.start_job(%(id)s, %(attempt)s)", id=place["id"], attempt=place["attempts"])
        return rows[0] if rows else {}

    def lose(self) -> None:
        """The worker shows no more signs of life."""
        self.as_owner(
            "update procrastinate_workers set last_heartbeat = now() - interval '1 hour' where id = %(id)s returning id",
            id=self.worker,
        )

    def take_over(self, attempts: int = 3, worker: int | None = None) -> list[dict[str, Any]]:
        """What another worker does about it, or the one that is named."""
        lost = self.world.rows(
            "select * from loci_api.take_over_jobs(%(worker)s, 30, %(attempts)s, 0, 0)", worker=worker, attempts=attempts
        )
        self.as_owner(
            "update procrastinate_jobs set scheduled_at = now() where status = 'todo' returning id"
        )  # time stands still here
        return lost

    def places(self) -> int:
        """How many places there are."""
        return self.as_owner("select count(*) as n from procrastinate_jobs")["n"]


@pytest.mark.row("L6")
def test_a_job_is_there_if_and_when_the_transaction_that_asked_for_it_commits(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        world = new_world(connection)
        connection.commit()
        act_as(connection, UUID(int=0))
        dropped = ask(world)
        connection.rollback()
        act_as(connection, UUID(int=0))
        kept = ask(world)
        connection.commit()
    with own_database.admin() as admin:
        assert admin.execute("select id from loci.jobs where id in (%s, %s)", [dropped, kept]).fetchall() == [(kept,)]
        queued = admin.execute("select args ->> 'job_id' from loci_jobs.procrastinate_jobs").fetchall()
        assert queued == [(str(kept),)]
        admin.execute("delete from loci_data.jobs")


def test_a_job_that_is_asked_for_again_is_not_begun_before_that_has_committed(own_database: Database) -> None:
    take = "select id from procrastinate_fetch_job_v2(array['loci'], null)"
    with (
        psycopg.connect(own_database.app_url, row_factory=dict_row) as writer,
        psycopg.connect(own_database.admin_url, autocommit=True, options="-c search_path=loci_jobs") as worker,
    ):
        world = new_world(writer)
        first = ask(world, key="k")
        writer.commit()
        act_as(writer, UUID(int=0))
        assert ask(world, key="k") == first
        assert worker.execute(take).fetchone() == (None,)
        writer.commit()
        assert worker.execute(take).fetchone() != (None,)
        worker.execute("delete from procrastinate_jobs")
        worker.execute("delete from loci_data.jobs")


def test_a_place_that_is_changed_or_deleted_by_hand_needs_no_search_path(queue: Queue) -> None:
    it, connection = ask(queue.world), queue.world.connection
    connection.execute("reset session authorization")
    connection.execute("set local search_path = ''")
    connection.execute("update loci_jobs.procrastinate_jobs set status = 'doing', attempts = 1")
    connection.execute("delete from loci_jobs.procrastinate_jobs")
    connection.execute("set local search_path to default")
    connection.execute("set session authorization loci_app")
    assert (queue.places(), job(queue.world, it)["state"]) == (0, "running")


def test_a_place_in_the_queue_says_nothing_but_which_job_it_is(queue: Queue) -> None:
    it = ask(queue.world, key="secret", turn="t")
    place = queue.take()
    assert place["args"] == {"namespace_id": queue.world.id, "job_id": str(it)}
    assert (place["lock"], place["queueing_lock"]) == (f"{queue.world.id}/t", None)


def test_jobs_with_one_key_are_one_until_the_first_try(queue: Queue) -> None:
    world = queue.world
    first = ask(world, key="k")
    again = world.row("select * from loci_api.enqueue_job(%(ns)s, 'enrich', '{}', 'k')")
    assert (again["id"], again["created"]) == (first, False)
    assert ask(world, "dream", key="k") != first
    place = queue.take()
    later = ask(world, key="k")
    assert later != first
    queue.again(place)
    assert ask(world, key="k") == later


def test_a_job_that_has_lost_its_place_in_the_queue_gets_another_when_it_is_asked_for(queue: Queue) -> None:
    lost = ask(queue.world, key="k")
    queue.as_owner("delete from procrastinate_jobs returning id")
    assert ask(queue.world, key="k") == lost
    assert queue.begin(queue.take())["id"] == lost


@pytest.mark.parametrize(("status", "state"), [("succeeded", "succeeded"), ("failed", "dead"), ("aborted", "cancelled")])
def test_a_job_follows_its_row_in_the_queue(queue: Queue, status: str, state: str) -> None:
    it = ask(queue.world)
    assert job(queue.world, it)["state"] == "waiting"
    place = queue.take()
    began = job(queue.world, it)
    assert (began["state"], began["tries"], began["finished_at"]) == ("running", 1, None)
    queue.say(place, status)
    ended = job(queue.world, it)
    assert ended["state"] == state
    assert ended["finished_at"] >= began["started_at"]
    assert queue.places() == 0


def test_a_job_that_is_put_back_waits_and_is_due_when_it_says(queue: Queue) -> None:
    it = ask(queue.world)
    queue.again(queue.take(), "1 hour")
    waiting = job(queue.world, it)
    assert (waiting["state"], waiting["tries"], waiting["finished_at"]) == ("waiting", 1, None)
    assert waiting["due_at"] > queue.world.now()
    assert queue.take()["id"] is None


def test_a_job_keeps_the_end_that_it_states(queue: Queue) -> None:
    it = ask(queue.world)
    place = queue.take()
    queue.world.rows("select loci_api.finish_job(%(ns)s, %(id)s, '{\"seen\": 3}')", id=it)
    queue.say(place, "failed")
    ended = job(queue.world, it)
    assert (ended["state"], ended["result"]) == ("succeeded", {"seen": 3})


def test_a_worker_that_was_thought_lost_cannot_go_on(queue: Queue) -> None:
    world = queue.world
    it = ask(world)
    place = queue.take()
    mine = queue.begin(place)
    world.rows("select loci_api.lock_job(%(ns)s, %(id)s, %(tries)s)", id=it, tries=mine["tries"])
    queue.lose()
    assert queue.take_over() == [{"id": it, "kind": "enrich", "dead": False}]
    assert queue.begin(place) == {}
    queue.worker = queue.as_owner("select worker_id as id from procrastinate_register_worker_v1()")["id"]
    theirs = queue.begin(queue.take())
    assert (theirs["id"], theirs["tries"], theirs["failures"]) == (it, 2, 1)
    assert (
        world.rows(
            "select * from loci_api.record_job_failure(%(id)s, %(attempt)s, 'late')", id=place["id"], attempt=place["attempts"]
        )
        == []
    )
    with pytest.raises(pg.ObjectNotInPrerequisiteState, match="was taken over by another worker"):
        world.rows("select loci_api.lock_job(%(ns)s, %(id)s, %(tries)s)", id=it, tries=mine["tries"])


def test_a_lost_job_is_dead_after_its_tries_and_a_finished_one_only_leaves_the_queue(queue: Queue) -> None:
    world = queue.world
    it, done = ask(world), ask(world)
    queue.take()
    queue.take()
    world.rows("select loci_api.finish_job(%(ns)s, %(id)s)", id=done)
    queue.lose()
    assert queue.take_over(attempts=1) == [{"id": it, "kind": "enrich", "dead": True}]
    assert (job(world, it)["state"], job(world, done)["state"]) == ("dead", "succeeded")
    assert job(world, it)["error"] == "its worker was lost"
    assert queue.places() == 0


def test_jobs_of_a_living_worker_are_left_alone(queue: Queue) -> None:
    it = ask(queue.world)
    queue.take()
    assert queue.take_over() == []
    assert job(queue.world, it)["state"] == "running"


def test_a_sign_of_life_from_before_the_clock_was_set_back_is_one_of_now(queue: Queue) -> None:
    it = ask(queue.world)
    queue.take()
    queue.as_owner(
        "update procrastinate_workers set last_heartbeat = now() + interval '1 day' where id = %(id)s returning id", id=queue.worker
    )
    assert queue.take_over() == []
    row = queue.as_owner(
        "select last_heartbeat <= clock_timestamp() as now from procrastinate_workers where id = %(id)s", id=queue.worker
    )
    assert row["now"]  # so it is lost soon, where it gives no other
    queue.lose()
    assert [each["id"] for each in queue.take_over()] == [it]


def test_a_worker_that_was_held_up_keeps_its_jobs_and_its_place_until_another_takes_them(queue: Queue) -> None:
    it, later = ask(queue.world), ask(queue.world)
    queue.take()
    queue.lose()
    assert queue.take_over(worker=queue.worker) == []
    assert job(queue.world, it)["state"] == "running"
    assert queue.begin(queue.take())["id"] == later


def test_jobs_with_one_turn_run_one_after_the_other_in_the_order_of_asking(queue: Queue) -> None:
    first, second, other = ask(queue.world, turn="t"), ask(queue.world, turn="t"), ask(queue.world, turn="u")
    taken = [queue.take() for _ in range(3)]
    assert [place["args"] and place["args"]["job_id"] for place in taken] == [str(first), str(other), None]
    queue.again(taken[0])
    assert queue.take()["args"]["job_id"] == str(first)
    queue.say(taken[0], "succeeded")
    assert queue.take()["args"]["job_id"] == str(second)


@pytest.mark.row("X9")
def test_a_namespace_with_many_jobs_holds_another_up_by_few_of_them(queue: Queue) -> None:
    many = [str(ask(queue.world)) for _ in range(20)]
    other = new_world(queue.world.connection)
    one = str(ask(other))
    taken = [queue.take()["args"]["job_id"] for _ in range(21)]
    assert taken.index(one) <= 3
    assert [it for it in taken if it != one] == many


@pytest.mark.release
def test_thousands_of_jobs_that_wait_hold_up_neither_another_namespace_nor_whoever_asks_for_one(queue: Queue) -> None:
    world, other, began = queue.world, new_world(queue.world.connection), time.monotonic()
    world.rows(
        "select count(*) from generate_series(1, 4000) n, loci_api.enqueue_job(%(ns)s, 'enrich', jsonb_build_object('n', n))"
    )

    def least(work: Callable[[], object]) -> float:
        taken = []
        for _ in range(3):
            asked = time.monotonic()
            work()
            taken.append(time.monotonic() - asked)
        return min(taken)

    queue.analyze()
    one = str(ask(other))
    passed = int(time.monotonic() - began) + 4  # those of the seconds before it was asked for
    assert one in [queue.take()["args"]["job_id"] for _ in range(passed)]
    assert least(queue.take) < 1.0
    assert least(lambda: ask(other)) < 1.0
    assert least(lambda: job(other, UUID(one))) < 1.0
    assert queue.places() > 3000


def test_cancelling_ends_a_job_that_waits_and_tells_one_that_runs(queue: Queue) -> None:
    world = queue.world
    waits = ask(world, turn="t")
    assert world.value("select loci_api.cancel_job(%(ns)s, %(id)s)", id=waits) == "cancelled"
    assert (job(world, waits)["state"], queue.places()) == ("cancelled", 0)
    runs = ask(world)
    place = queue.take()
    assert world.value("select loci_api.cancel_job(%(ns)s, %(id)s)", id=runs) == "running"
    assert queue.as_owner("select abort_requested as told from procrastinate_jobs where id = %(id)s", id=place["id"])["told"]
    queue.say(place, "aborted")
    assert job(world, runs)["state"] == "cancelled"
    done = ask(world)
    queue.take()
    world.rows("select loci_api.finish_job(%(ns)s, %(id)s)", id=done)
    with pytest.raises(pg.UniqueViolation, match="is over: succeeded"):
        world.rows("select loci_api.cancel_job(%(ns)s, %(id)s)", id=done)


def give_up(queue: Queue, **fields: Any) -> UUID:
    it = ask(queue.world, **fields)
    queue.say(queue.take(), "failed")
    return it


def succeed(queue: Queue, **fields: Any) -> UUID:
    it = ask(queue.world, **fields)
    queue.take()
    queue.world.rows("select loci_api.finish_job(%(ns)s, %(id)s)", id=it)
    return it


def dead_jobs(world: World) -> int:
    return sum(row["dead"] for row in world.rows("select dead from loci_api.job_metrics() where dead > 0"))


def test_a_job_that_was_given_up_is_let_be_by_cancelling_it(queue: Queue) -> None:
    before = dead_jobs(queue.world)
    it = give_up(queue)
    assert dead_jobs(queue.world) == before + 1
    assert queue.world.value("select loci_api.cancel_job(%(ns)s, %(id)s)", id=it) == "cancelled"
    assert (job(queue.world, it)["state"], dead_jobs(queue.world)) == ("cancelled", before)
    queue.world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=it)
    assert job(queue.world, it)["state"] == "waiting"


@pytest.mark.parametrize("arguments", [{}, {"passes": ["entities"]}, {"scheduled": True}], ids=str)
def test_a_given_up_job_is_closed_by_a_later_job_that_did_its_work(queue: Queue, arguments: dict[str, Any]) -> None:
    unscheduled = {name: value for name, value in arguments.items() if name != "scheduled"}
    it = give_up(queue, kind="dream", arguments=Jsonb(arguments))
    succeed(queue, kind="dream", arguments=Jsonb(unscheduled))
    assert job(queue.world, it)["state"] == "skipped"


@pytest.mark.parametrize(
    "other",
    [{"kind": "enrich"}, {"kind": "dream", "arguments": Jsonb({"passes": ["memories"]})}],
    ids=["another kind", "another subject"],
)
def test_a_dead_job_without_a_later_one_stays_dead(queue: Queue, other: dict[str, Any]) -> None:
    succeed(queue, kind="dream")
    it = give_up(queue, kind="dream")
    succeed(queue, **other)
    assert job(queue.world, it)["state"] == "dead"


def test_a_job_that_was_to_be_cancelled_when_its_worker_was_lost_is_cancelled(queue: Queue) -> None:
    it = ask(queue.world)
    queue.take()
    queue.world.rows("select loci_api.cancel_job(%(ns)s, %(id)s)", id=it)
    queue.lose()
    queue.take_over()
    assert job(queue.world, it)["state"] == "cancelled"


@pytest.mark.row("L6")
@pytest.mark.parametrize("put_off", [False, True])
def test_a_job_that_waits_for_its_next_try_runs_now(queue: Queue, put_off: bool) -> None:
    world = queue.world
    it = ask(world)
    place = queue.take()
    note = "select * from loci_api.record_job_failure(%(id)s, %(attempt)s, 'no', %(off)s)"
    world.rows(note, id=place["id"], attempt=place["attempts"], off=put_off)
    queue.again(place, "1 hour")
    assert job(world, it)["due_at"] > world.now()
    assert queue.take().get("id") is None
    world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=it)
    waiting = job(world, it)
    assert [waiting[name] for name in ("state", "due_at", "failures", "postponed", "tries")] == ["waiting", None, 0, 0, 1]
    assert (queue.begin(queue.take())["id"], queue.places()) == (it, 1)


def test_a_job_that_waits_for_its_turn_keeps_its_place_when_it_is_retried(queue: Queue) -> None:
    first, second = ask(queue.world), ask(queue.world)
    queue.world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=second)
    assert [queue.begin(queue.take())["id"] for _ in range(2)] == [first, second]


def test_a_job_that_lost_its_place_gets_another_when_it_is_retried(queue: Queue) -> None:
    it = ask(queue.world)
    queue.as_owner("delete from procrastinate_jobs returning id")
    queue.world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=it)
    assert queue.begin(queue.take())["id"] == it


@pytest.mark.row("L6")
def test_a_dead_job_is_tried_again_with_all_its_tries_and_one_that_runs_is_not(queue: Queue) -> None:
    world = queue.world
    it = ask(world)
    place = queue.take()
    with pytest.raises(pg.UniqueViolation, match="cannot be tried again: it is running"), world.connection.transaction():
        world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=it)
    world.rows("select * from loci_api.record_job_failure(%(id)s, %(attempt)s, 'no')", id=place["id"], attempt=place["attempts"])
    queue.say(place, "failed")
    assert (job(world, it)["failures"], job(world, it)["error"]) == (1, "no")
    world.rows("select loci_api.retry_job(%(ns)s, %(id)s)", id=it)
    waiting = job(world, it)
    assert (waiting["state"], waiting["failures"], waiting["finished_at"]) == ("waiting", 0, None)
    assert queue.begin(queue.take())["id"] == it


def test_jobs_are_listed_newest_first_by_state_and_kind_a_page_at_a_time(queue: Queue) -> None:
    world = queue.world
    ids = [ask(world, kind) for kind in (*KINDS, "enrich")]
    world.rows("select loci_api.cancel_job(%(ns)s, %(id)s)", id=ids[0])
    listed: Any = lambda **w: [r["id"] for r in world.rows(  # noqa: E731
        "select * from loci.list_jobs(%(ns)s, %(limit)s, %(cursor)s, %(state)s, %(kind)s)",
        **{"limit": 50, "cursor": None, "state": None, "kind": None, **w})]  # fmt: skip
    assert listed() == ids[::-1]
    assert listed(limit=2) == [ids[3], ids[2]]
    assert listed(limit=2, cursor=ids[2]) == [ids[1], ids[0]]
    assert listed(state="cancelled") == [ids[0]]
    assert listed(kind="enrich") == [ids[3], ids[1]]
    assert listed(kind="dream", state="waiting") == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "select * from loci_api.enqueue_job(%(ns)s, 'sing')",
            "kind must be dream, enrich, contradictions, settle, tune or project",
        ),
        ("select * from loci.list_jobs(%(ns)s, p_state => 'tired')", "state must be waiting, running"),
        ("select * from loci.list_jobs(%(ns)s, 0)", "limit must be 1 to 1000"),
        ("select loci_api.finish_job(%(ns)s, gen_random_uuid(), p_state => 'dead')", "state must be succeeded or skipped"),
    ],
)
def test_wrong_words_are_refused_with_the_right_ones(world: World, statement: Any, said: str) -> None:
    with pytest.raises(pg.InvalidParameterValue, match=said):
        world.rows(statement)


def test_a_deleted_namespace_takes_its_jobs_off_the_queue_and_stops_the_one_that_runs(queue: Queue) -> None:
    other = new_world(queue.world.connection)
    runs = ask(other)
    place = queue.take()
    ask(other)
    assert queue.places() == 2
    queue.world.connection.execute("select loci_api.delete_namespace(%s)", [other.name])
    left = queue.as_owner("select id, abort_requested from procrastinate_jobs")
    assert (queue.places(), left) == (1, {"id": place["id"], "abort_requested": True})
    assert queue.begin(place) == {}
    with pytest.raises(pg.NoDataFound), queue.world.connection.transaction():
        other.rows("select loci_api.lock_job(%(ns)s, %(id)s)", id=runs)
    queue.say(place, "aborted")
    assert queue.places() == 0


def test_jobs_that_ended_before_job_days_are_deleted(queue: Queue) -> None:
    world = queue.world
    old, new, waits = ask(world), ask(world), ask(world)
    for status in ("failed", "succeeded"):
        queue.say(queue.take(), status)
    queue.as_owner(
        "update loci_data.jobs set finished_at = finished_at - interval '31 days' where id = %(id)s returning id", id=old
    )
    assert world.value("select loci_api.sweep_log('jobs')") == 1
    assert [row["id"] for row in world.rows("select id from loci.list_jobs(%(ns)s)")] == [waits, new]


def test_the_service_itself_cannot_touch_the_queue(world: World) -> None:
    ask(world)
    with pytest.raises(pg.InsufficientPrivilege, match="schema loci_jobs"), world.connection.transaction():
        world.rows("select * from loci_jobs.procrastinate_jobs")
    with pytest.raises(pg.InsufficientPrivilege), world.connection.transaction():
        world.rows("select loci_jobs.procrastinate_prune_stalled_workers_v1(0)")
    world.connection.execute("set local role loci_worker")
    assert world.rows("select count(*) as n from loci_jobs.procrastinate_jobs")[0]["n"] >= 1
    with pytest.raises(pg.InsufficientPrivilege), world.connection.transaction():
        world.rows("select * from loci_data.memories")
    world.connection.execute("reset role")


@pytest.mark.parametrize("function", ["cancel_job", "retry_job"])
def test_a_reader_sees_jobs_and_changes_none(owned: World, function: str) -> None:
    it = ask(owned)
    owned.connection.execute("reset session authorization")
    reader = grant(owned.connection, owned.name, "reader")
    stranger = grant(owned.connection, new_world(owned.connection).name, "admin")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, reader)
    assert job(owned, it)["state"] == "waiting"
    assert owned.rows("select id from loci.jobs") == [{"id": it}]
    statement: Any = f"select loci_api.{function}(%(ns)s, %(id)s)"
    with pytest.raises(pg.InsufficientPrivilege, match="writer is needed"), owned.connection.transaction():
        owned.rows(statement, id=it)
    act_as(owned.connection, stranger)
    assert owned.rows("select id from loci.jobs") == []
    with pytest.raises(pg.InsufficientPrivilege, match="no access"), owned.connection.transaction():
        job(owned, it)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from loci_api.start_job(1, 0)",
        "select * from loci_api.record_job_failure(1, 0, 'x')",
        "select * from loci_api.take_over_jobs(1, 30, 3)",
        "select loci_api.sweep_log('jobs')",
        "select * from loci_api.job_metrics()",
    ],
)
def test_only_the_operator_works_jobs(owned: World, statement: Any) -> None:
    owned.connection.execute("reset session authorization")
    admin = grant(owned.connection, owned.name, "admin")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, admin)
    with pytest.raises(pg.InsufficientPrivilege, match="only the operator"):
        owned.rows(statement)


def test_figures_count_jobs_by_kind_and_know_who_works(queue: Queue) -> None:
    world = queue.world
    before = {r["kind"]: r for r in world.rows("select * from loci_api.job_metrics()")}
    ask(world)
    ask(world)
    queue.take()
    found = {r["kind"]: r for r in world.rows("select * from loci_api.job_metrics()")}
    assert (found["enrich"]["waiting"], found["enrich"]["running"]) == (1, 1)
    assert found["enrich"]["oldest"] is not None
    assert (found[None]["workers"], found[None]["lost"]) == (before[None]["workers"], 0)
    queue.lose()
    assert world.rows("select lost from loci_api.job_metrics() where kind is null") == [{"lost": 1}]


def test_the_queue_is_that_of_the_installed_release() -> None:
    """A later release of procrastinate has its own schema: a revision must run the files of its `sql/migrations` that are new."""
    schema = procrastinate.schema.SchemaManager.get_schema()
    assert sha256(schema.encode()).hexdigest() == MADE_WITH, (
        "procrastinate's schema has changed: write a revision that runs its new files of sql/migrations in the schema loci_jobs"
    )


@pytest.mark.row("R14")
def test_a_job_that_runs_says_how_far_it_is_until_another_has_it(queue: Queue) -> None:
    it = ask(queue.world, "tune")
    mine = queue.begin(queue.take())
    report = "select loci_api.report_job_progress(%(ns)s, %(id)s, %(tries)s, '{\"asked\": 20}')"
    queue.world.rows(report, id=it, tries=mine["tries"])
    assert {name: job(queue.world, it)[name] for name in ("state", "result")} == {"state": "running", "result": {"asked": 20}}
    with pytest.raises(pg.ObjectNotInPrerequisiteState, match="taken over"), queue.world.connection.transaction():
        queue.world.rows(report, id=it, tries=mine["tries"] + 1)
    queue.world.rows('select loci_api.finish_job(%(ns)s, %(id)s, \'{"verdict": "keep"}\')', id=it)
    assert job(queue.world, it)["result"] == {"verdict": "keep"}
