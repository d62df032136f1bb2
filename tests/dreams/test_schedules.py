"""Schedules of dreams: when they are due, that one worker makes the job, and what makes them wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from db.errors import Invalid
from db.jobs import schedules as db_schedules
from service.dreams.dream import run_dream
from service.jobs.job import Job, Postponed
from service.jobs.schedules import Schedules, check_settings, next_time
from tests.databases import Database
from tests.dreams.dreaming import Sleeper, new_sleeper, preferences
from tests.factories import Row
from tests.llm.scripted import ScriptedModel

NOON = datetime(2024, 5, 1, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def sleeper(own_database: Database) -> Iterator[Sleeper]:
    with new_sleeper(own_database) as made:
        yield made


def look(sleeper: Sleeper, *, model: ScriptedModel | None = None, without_model: bool = False) -> None:
    """One look of a worker at all schedules."""
    sleeper.run(lambda work: Schedules(work).run_due_schedules(), None if without_model else model or ScriptedModel(preferences()))


def made(sleeper: Sleeper) -> list[Row]:
    """Dreams of the namespace."""
    return sleeper.world.rows(
        "select id, kind, key, turn, arguments, agent_id, state, tries, failures, due_at, finished_at, error, result from loci_data.jobs where namespace_id = %(ns_id)s order by id"
    )


def kept(sleeper: Sleeper) -> list[Row]:
    """The schedule as it was last reckoned."""
    return sleeper.world.rows("select * from loci_data.schedules where namespace_id = %(ns_id)s")


def set_due(sleeper: Sleeper, due_at: datetime) -> None:
    """As if the schedule were due then: the clock of the server is not ours to set."""
    with sleeper.database.admin() as admin:
        admin.execute("update loci_data.schedules set due_at = %s where namespace_id = %s", [due_at, sleeper.world.id])
        admin.commit()


def scheduled(sleeper: Sleeper, rule: str = "0 3 * * *") -> None:
    """A namespace that dreams at some time, which a worker has seen."""
    sleeper.setting(dream_schedule=rule)
    look(sleeper)


# Rules


@pytest.mark.parametrize(
    ("rule", "next_at"),
    [
        ("0 3 * * *", datetime(2024, 5, 2, 3, tzinfo=UTC)),
        ("*/5 * * * *", datetime(2024, 5, 1, 12, 5, tzinfo=UTC)),
        ("0 12 * * *", datetime(2024, 5, 2, 12, tzinfo=UTC)),
        ("  30   4  1  *   * ", datetime(2024, 6, 1, 4, 30, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("15 2 * * sun", datetime(2024, 5, 5, 2, 15, tzinfo=UTC)),
    ],
)
def test_a_rule_means_the_next_minute_that_fits_it_in_utc(rule: str, next_at: datetime) -> None:
    assert next_time(rule, NOON) == next_at


@pytest.mark.parametrize(
    "rule",
    ["x", "0 3 * *", "* * * * * *", "@daily", "60 * * * *", "0 24 * * *", "0 0 31 2 *", "R 3 * * *", "H 3 * * *", "R(1-5) 3 * * *",
     "*/0 * * * *", "0 3 * * 9", "0 3 * * *\0", "1-100000000 * * * *", "a" * 10_000],
)  # fmt: skip
def test_an_invalid_or_impossible_schedule_is_refused_by_its_setting(rule: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_settings({"dream_schedule": rule}, NOON)
    assert caught.value.errors[0].field == "settings.dream_schedule"
    assert len(caught.value.detail) < 600


@pytest.mark.parametrize(
    "settings", [None, {}, {"dream_schedule": ""}, {"dream_schedule": None}, {"dream_schedule": "0 3 * * *"}, {"x": 1}]
)
def test_other_settings_are_left_to_the_database(settings: Row | None) -> None:
    check_settings(settings, NOON)


# When jobs are made


def test_a_new_schedule_makes_no_job_until_it_is_due(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    look(sleeper)
    (row,) = kept(sleeper)
    assert (row["kind"], row["cron"], made(sleeper)) == ("dream", "0 3 * * *", [])
    assert row["due_at"] > sleeper.world.now()


@pytest.mark.row("L4")
def test_a_schedule_that_is_due_makes_one_dream_and_is_due_again_later(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())
    look(sleeper)
    look(sleeper)
    (job,) = made(sleeper)
    assert (job["kind"], job["arguments"], job["key"], job["turn"], job["agent_id"], job["state"]) == (
        "dream", {"scheduled": True}, "scheduled", "dream", None, "waiting",
    )  # fmt: skip
    assert kept(sleeper)[0]["due_at"] == next_time("0 3 * * *", sleeper.world.now())


def test_a_schedule_that_was_missed_many_times_makes_one_dream(sleeper: Sleeper) -> None:
    scheduled(sleeper, "*/5 * * * *")
    set_due(sleeper, sleeper.world.now() - timedelta(days=30))
    look(sleeper)
    look(sleeper)
    assert len(made(sleeper)) == 1


def test_one_of_many_workers_makes_the_dream(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(lambda _: look(sleeper), range(4)))
    assert len(made(sleeper)) == 1


def test_a_worker_that_saw_an_older_state_makes_no_second_dream(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())

    async def late(work: Any) -> Any:
        async with work.transaction("schedule_jobs", None, None) as tx:
            seen = next(row for row in await db_schedules.list_schedules(tx) if row["namespace"] == sleeper.world.name)
        await Schedules(work).run_due_schedules()
        sleeper.world.rows("select loci_api.cancel_job(%(ns)s, %(id)s)", id=made(sleeper)[0]["id"])
        async with work.transaction("schedule_jobs", sleeper.world.name, "admin") as tx:
            return await db_schedules.update_schedule(tx, seen=seen, cron=seen["cron"], next_at=seen["due_at"] + timedelta(days=1))

    assert sleeper.run(late, ScriptedModel(preferences())) is None
    assert len(made(sleeper)) == 1


def test_a_clock_that_was_set_back_does_not_silence_a_schedule(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now() + timedelta(days=365))
    look(sleeper)
    assert kept(sleeper)[0]["due_at"] == next_time("0 3 * * *", sleeper.world.now())
    assert made(sleeper) == []


def test_a_changed_rule_is_reckoned_anew_and_runs_nothing_at_once(sleeper: Sleeper) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())
    sleeper.setting(dream_schedule="0 4 * * *")
    look(sleeper)
    assert (kept(sleeper)[0]["cron"], kept(sleeper)[0]["due_at"].hour, made(sleeper)) == ("0 4 * * *", 4, [])


@pytest.mark.parametrize("removed", ["", None])
def test_a_removed_schedule_is_forgotten(sleeper: Sleeper, removed: str | None) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())
    sleeper.setting(dream_schedule=removed)
    look(sleeper)
    assert (kept(sleeper), made(sleeper)) == ([], [])


def test_a_rule_that_nobody_can_read_is_logged_once_and_keeps_no_other_from_running(
    sleeper: Sleeper, own_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    sleeper.setting(dream_schedule="every night")
    with new_sleeper(own_database) as other:
        scheduled(other)
        set_due(other, other.world.now())

        async def twice(work: Any) -> None:
            looking = Schedules(work)
            await looking.run_due_schedules()
            await looking.run_due_schedules()

        caplog.clear()
        other.run(twice, ScriptedModel(preferences()))
        assert len(made(other)) == 1
    assert made(sleeper) == []
    assert sum(sleeper.world.name in line for line in caplog.messages) == 1


def test_a_worker_without_a_model_makes_none_and_says_so_once(sleeper: Sleeper, caplog: pytest.LogCaptureFixture) -> None:
    scheduled(sleeper)
    set_due(sleeper, sleeper.world.now())

    async def twice(work: Any) -> None:
        looking = Schedules(work)
        await looking.run_due_schedules()
        await looking.run_due_schedules()

    sleeper.run(twice, None)
    assert made(sleeper) == []
    assert sum("no language model" in line for line in caplog.messages) == 1
    look(sleeper)
    assert len(made(sleeper)) == 1


def test_a_schedule_is_not_everybodys_to_read(sleeper: Sleeper) -> None:
    sleeper.world.rows("select set_config('loci.agent', '', false)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sleeper.world.rows("select * from loci_api.list_schedules()")


# A busy namespace


def busy(sleeper: Sleeper) -> str | None:
    return sleeper.world.value("select loci_api.namespace_activity(%(ns)s)")


def write_as(sleeper: Sleeper, via: str) -> None:
    """A write that came through something."""
    with sleeper.world.connection.transaction():
        sleeper.world.rows("select set_config('loci.origin', %(o)s, true)", o=f'{{"action": "write_memory", "via": "{via}"}}')
        sleeper.world.write(f"something via {via}")


def test_a_quiet_namespace_is_not_busy(sleeper: Sleeper) -> None:
    assert busy(sleeper) is None


@pytest.mark.parametrize(("via", "is_busy"), [("rest", True), ("mcp", True), ("worker", False), ("cli", False)])
def test_a_namespace_is_busy_while_agents_write_to_it(sleeper: Sleeper, via: str, is_busy: bool) -> None:
    write_as(sleeper, via)
    assert busy(sleeper) == ("agents are writing" if is_busy else None)


def test_a_namespace_is_busy_while_a_conversation_goes_on(sleeper: Sleeper) -> None:
    sleeper.say("Hello")
    assert busy(sleeper) == "a conversation is going on"


def test_old_turns_make_nobody_busy(sleeper: Sleeper) -> None:
    sleeper.say("Hello", said_at=sleeper.world.now() - timedelta(minutes=6))
    assert busy(sleeper) is None


def test_a_namespace_says_how_long_it_counts_as_busy(sleeper: Sleeper) -> None:
    sleeper.setting(dream_busy_minutes=0)
    sleeper.say("Hello")
    write_as(sleeper, "rest")
    assert busy(sleeper) is None


def test_a_scheduled_dream_waits_while_somebody_is_at_work_and_asks_no_model(sleeper: Sleeper) -> None:
    sleeper.say("Hello")
    model = ScriptedModel(preferences())
    job = sleeper.job(scheduled=True)
    with pytest.raises(Postponed) as caught:
        sleeper.run(lambda work: run_dream(work, job), model)
    assert (caught.value.at, str(caught.value)) == (None, "the namespace is busy: a conversation is going on")
    assert (model.calls, sleeper.logged()) == (0, ["Hello"])


def test_a_dream_that_was_asked_for_runs_at_once(sleeper: Sleeper) -> None:
    sleeper.say("Hello")
    assert sleeper.dream(preferences(), passes=["preferences"]).calls == 1


def test_a_quiet_namespace_dreams_when_it_is_due(sleeper: Sleeper) -> None:
    sleeper.say("Hello", said_at=sleeper.world.now() - timedelta(hours=1))
    job: Job = sleeper.job(scheduled=True, passes=["preferences"])
    sleeper.dream(preferences(), job)
    assert sleeper.state(job.id)["state"] == "succeeded"
