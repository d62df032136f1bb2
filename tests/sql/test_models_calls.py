"""Calls of models: what they cost, and a budget of a day that calls side by side cannot overspend."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.errors import (
    CheckViolation,
    ConfigurationLimitExceeded,
    InsufficientPrivilege,
    InvalidParameterValue,
    NoDataFound,
)
from psycopg.types.json import Jsonb

from tests.factories import Row, World, act_as, grant, new_world
from tests.sql.test_facts_walk import as_owner


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


def budget(world: World, **settings: float) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": settings}))


def reserve(
    world: World,
    prompt: int = 100,
    most: int = 1000,
    least: int | None = None,
    *,
    prices: tuple[float, float] = (0, 0),
    **named: Any,
) -> Row:
    given = {"job": None, "purpose": "memories", "model": "m", **named}
    return world.row(
        """select * from loci_api.reserve_model_call(%(ns)s, %(job)s, %(purpose)s, %(model)s, %(prompt)s, %(most)s, %(least)s, %(pp)s, %(cp)s)""",
        prompt=prompt,
        most=most,
        least=least,
        pp=prices[0],
        cp=prices[1],
        **given,
    )


def end(world: World, id: UUID, prompt: int, said: int, error: str | None = None, prices: tuple[float, float] = (0, 0)) -> Any:
    return world.value(
        "select cost from loci_api.finish_model_call(%(ns)s, %(id)s, %(p)s, %(c)s, false, 12, %(error)s, %(pp)s, %(cp)s)",
        id=id,
        p=prompt,
        c=said,
        error=error,
        pp=prices[0],
        cp=prices[1],
    )


def refused(
    world: World, prompt: int = 100, most: int = 1000, least: int | None = None, **options: Any
) -> psycopg.errors.Diagnostic:
    with pytest.raises(ConfigurationLimitExceeded) as raised, world.connection.transaction():
        reserve(world, prompt, most, least, **options)
    return raised.value.diag


def usage(world: World, day: Any = None) -> Row:
    return world.row("select * from loci.model_usage(%(ns)s, %(day)s)", day=day)


def listed(
    world: World, limit: int = 50, cursor: UUID | None = None, purpose: str | None = None, job: UUID | None = None
) -> list[Row]:
    return world.rows(
        "select * from loci.list_model_calls(%(ns)s, %(limit)s, %(cursor)s, %(purpose)s, %(job)s)",
        limit=limit,
        cursor=cursor,
        purpose=purpose,
        job=job,
    )


def days_ago(world: World, id: UUID, days: float) -> None:
    as_owner(
        world,
        "update loci_data.model_calls set started_at = started_at - %(ago)s where namespace_id = %(ns_id)s and id = %(id)s",
        ago=timedelta(days=days),
        id=id,
    )


def again_at(diag: psycopg.errors.Diagnostic) -> datetime:
    assert diag.message_detail is not None
    return datetime.fromisoformat(diag.message_detail)


def midnight() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


# What is written down


def test_a_call_is_written_down_before_it_is_made_with_all_that_it_may_use(world: World) -> None:
    job = uuid4()
    made = reserve(world, 100, 900, job=job, prices=(2, 10))
    (call,) = listed(world)
    assert made == {"id": call["id"], "completion_tokens": 900}
    assert (call["state"], call["job_id"], call["purpose"], call["model"]) == ("running", job, "memories", "m")
    assert (call["prompt_tokens"], call["completion_tokens"], call["estimated"], float(call["cost"])) == (100, 900, True, 0.0092)


def test_actual_usage_replaces_the_reservation(world: World) -> None:
    call_id = reserve(world, 100, 900, prices=(2, 10))["id"]
    assert float(end(world, call_id, 120, 30, prices=(2, 10))) == pytest.approx(0.00054)
    (call,) = listed(world)
    assert (call["state"], call["prompt_tokens"], call["completion_tokens"], call["took_ms"]) == ("succeeded", 120, 30, 12)
    assert (call["estimated"], call["error"], float(call["cost"])) == (False, None, 0.00054)


def test_a_call_that_failed_says_why_and_what_it_cost(world: World) -> None:
    end(world, reserve(world)["id"], 100, 7, "x" * 900)
    (call,) = listed(world)
    assert (call["state"], call["completion_tokens"], call["error"]) == ("failed", 7, "x" * 500)


def test_a_call_ends_once(world: World) -> None:
    call_id = reserve(world)["id"]
    end(world, call_id, 1, 1)
    with pytest.raises(NoDataFound), world.connection.transaction():
        end(world, call_id, 9, 9)
    assert listed(world)[0]["prompt_tokens"] == 1


@pytest.mark.parametrize("wrong", [{"purpose": "Not One"}, {"purpose": ""}, {"model": ""}, {"prompt": -1}])
def test_a_call_with_an_invalid_reservation_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(CheckViolation):
        reserve(world, **wrong)


# The budget


def test_without_a_budget_any_number_goes(world: World) -> None:
    budget(world, model_tokens=0)
    assert reserve(world, 2_000_000, 16_000)["completion_tokens"] == 16_000
    assert usage(world)["tokens_left"] is None


def test_calls_that_run_count_with_what_they_reserved(world: World) -> None:
    budget(world, model_tokens=2500)
    reserve(world, 100, 1000)
    reserve(world, 100, 1000)
    assert refused(world).column_name == "settings.model_tokens"
    row = usage(world)
    assert (row["calls"], row["running"], row["token_limit"], row["tokens_left"]) == (2, 2, 2500, 300)


def test_unused_reserved_tokens_are_free_for_others(world: World) -> None:
    budget(world, model_tokens=2000)
    call_id = reserve(world, 100, 1900)["id"]
    refused(world)
    end(world, call_id, 100, 10)
    assert reserve(world)["completion_tokens"] == 1000


def test_near_the_end_of_the_budget_an_answer_may_be_shorter_but_not_too_short(world: World) -> None:
    budget(world, model_tokens=1000)
    assert reserve(world, 100, 16_000, 500)["completion_tokens"] == 900
    budget(world, model_tokens=1500)
    refused(world, 100, 16_000, 500)
    assert reserve(world, 100, 16_000, 400)["completion_tokens"] == 400


def test_a_refusal_says_what_is_spent_of_what_and_which_setting_it_is(world: World) -> None:
    budget(world, model_tokens=1234)
    end(world, reserve(world, 100, 1000)["id"], 1000, 100)
    diag = refused(world)
    assert diag.message_primary == (
        "the day's budget is spent: models have used 1100 of 1234 tokens (setting model_tokens), and this call may need 1100"
    )
    assert again_at(diag) == midnight()


def test_while_others_may_give_back_what_they_hold_it_is_worth_asking_soon(world: World) -> None:
    budget(world, model_tokens=1200)
    reserve(world)
    assert again_at(refused(world)) < datetime.now(UTC) + timedelta(minutes=2)


def test_a_call_whose_worker_died_keeps_what_it_reserved_and_gives_nothing_back(world: World) -> None:
    budget(world, model_tokens=1200)
    reserve(world)
    as_owner(world, "update loci_data.model_calls set started_at = greatest(date_trunc('day', clock_timestamp(), 'UTC'), "
             "clock_timestamp() - interval '16 minutes') where namespace_id = %(ns_id)s")  # fmt: skip
    assert usage(world)["tokens_left"] == 100
    if datetime.now(UTC) - midnight() + timedelta(days=1) > timedelta(minutes=17):
        assert again_at(refused(world)) == midnight()


def test_the_day_begins_anew_at_midnight_utc(world: World) -> None:
    budget(world, model_tokens=1200)
    call_id = reserve(world)["id"]
    refused(world)
    days_ago(world, call_id, 1)
    assert reserve(world)["completion_tokens"] == 1000
    assert usage(world)["calls"] == 1
    assert usage(world, midnight().date() - timedelta(days=2))["completion_tokens"] == 1000


def test_money_is_a_budget_too(world: World) -> None:
    budget(world, model_cost=0.02)
    reserve(world, 1000, 1000, prices=(1, 10))  # 0.011
    diag = refused(world, 1000, 1000, prices=(1, 10))
    assert diag.column_name == "settings.model_cost"
    assert "have cost 0.011000 of 0.02 (setting model_cost), and this call may cost 0.011000" in str(diag.message_primary)
    assert reserve(world, 1000, 1000, 100, prices=(1, 10))["completion_tokens"] == 800
    row = usage(world)
    assert (float(row["cost"]), float(row["cost_left"])) == (0.02, 0)


def test_prices_of_nothing_leave_money_alone(world: World) -> None:
    budget(world, model_cost=0.01)
    assert reserve(world)["completion_tokens"] == 1000


def test_another_namespace_has_another_budget(world: World) -> None:
    budget(world, model_tokens=1200)
    reserve(world)
    other = new_world(world.connection)
    assert reserve(other)["completion_tokens"] == 1000
    assert usage(other)["calls"] == 1


# Looking


def test_calls_are_listed_newest_first_page_by_page(world: World) -> None:
    made = [reserve(world, 1, 1)["id"] for _ in range(5)][::-1]
    first = [row["id"] for row in listed(world, 3)]
    assert first == made[:3]
    assert [row["id"] for row in listed(world, 3, first[-1])] == made[3:]


def test_calls_are_found_by_what_they_were_for_and_by_their_job(world: World) -> None:
    job = uuid4()
    mine = reserve(world, purpose="graph", job=job)["id"]
    other = reserve(world, purpose="graph")["id"]
    reserve(world, purpose="retain")
    assert [row["id"] for row in listed(world, purpose="graph")] == [other, mine]
    assert [row["id"] for row in listed(world, job=job)] == [mine]


@pytest.mark.parametrize("limit", [0, 1002, None])
def test_a_page_has_a_size(world: World, limit: Any) -> None:
    with pytest.raises(InvalidParameterValue, match="limit must be 1 to 1000"):
        listed(world, limit)


def test_the_view_shows_calls_of_granted_namespaces_alone(world: World) -> None:
    other = new_world(world.connection)
    reserve(world)
    reserve(other)
    world.connection.execute("reset session authorization")
    agent = grant(world.connection, world.name, "reader")
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, agent)
    assert [row["namespace"] for row in world.rows("select namespace from loci.model_calls")] == [world.name]


@pytest.mark.parametrize(("role", "may"), [("reader", False), ("writer", True)])
def test_a_writer_may_call_models(world: World, role: str, may: bool) -> None:
    world.connection.execute("reset session authorization")
    agent = grant(world.connection, world.name, role)
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, agent)
    assert usage(world)["calls"] == 0
    if may:
        assert reserve(world)["completion_tokens"] == 1000
    else:
        with pytest.raises(InsufficientPrivilege):
            reserve(world)


# How long


def sweep(world: World, limit: int = 1000) -> int:
    return int(world.value("select loci_api.sweep_log('model_calls', %(limit)s)", limit=limit))


def test_calls_are_kept_for_the_days_of_jobs_and_those_of_today_always(world: World) -> None:
    budget(world, job_days=0)
    other = new_world(world.connection)
    ages = {age: reserve(world)["id"] for age in (0, 1, 40)}
    kept = reserve(other)["id"]
    for age, made in ages.items():
        days_ago(world, made, age)
    days_ago(other, kept, 29)
    assert sweep(world) == 2
    assert [row["id"] for row in listed(world)] == [ages[0]]
    assert len(listed(other)) == 1


def test_a_sweep_takes_no_more_than_it_may(world: World) -> None:
    for _ in range(3):
        days_ago(world, reserve(world, 1, 1)["id"], 31)
    assert [sweep(world, 2), sweep(world, 2), sweep(world, 2)] == [2, 1, 0]


def test_the_operator_alone_sweeps(world: World) -> None:
    act_as(world.connection, uuid4())
    with pytest.raises(InsufficientPrivilege):
        sweep(world)


def test_calls_go_with_their_namespace(world: World) -> None:
    reserve(world)
    world.rows("select loci_api.delete_namespace(%(ns)s)")
    world.connection.execute("reset session authorization")
    assert world.value("select count(*) from loci_data.model_calls where namespace_id = %(ns_id)s") == 0
