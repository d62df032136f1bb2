"""Feedback signals in SQL: who may note and read them, which are shown to a dream, and how long they are kept."""

import calendar
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.factories import OPERATOR, World, act_as, grant


def note(world: World, *contents: str, kind: str = "note") -> list[Any]:
    signals = Jsonb([{"kind": kind, "content": content} for content in contents])
    return [row["id"] for row in world.rows("select id from loci_api.record_signals(%(ns)s, %(s)s)", s=signals)]


def test_a_reader_reads_signals_and_may_not_note_any(owned: World, admin: psycopg.Connection[Any]) -> None:
    note(owned, "well done")
    admin.execute("reset session authorization")
    reader = grant(admin, owned.name, "reader")
    admin.execute("set session authorization loci_app")
    act_as(admin, reader)
    assert owned.value("select content from loci.list_signals(%(ns)s)") == "well done"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        note(owned, "not mine to say")


@pytest.mark.parametrize(
    ("signal", "error"),
    [
        ({"kind": "shout", "content": "x"}, psycopg.errors.CheckViolation),
        ({"kind": "note", "content": ""}, psycopg.errors.CheckViolation),
        ({"kind": "note"}, psycopg.errors.NotNullViolation),
        ({"kind": "note", "content": "x", "memory_id": str(OPERATOR)}, psycopg.errors.ForeignKeyViolation),
    ],
    ids=str,
)
def test_a_signal_that_cannot_be_stored_is_refused(world: World, signal: Any, error: type[psycopg.Error]) -> None:
    with pytest.raises(error):
        world.rows("select * from loci_api.record_signals(%(ns)s, %(s)s)", s=Jsonb([signal]))


def test_signals_are_kept_for_the_days_of_their_setting(owned: World, admin: psycopg.Connection[Any]) -> None:
    old, young = note(owned, "old"), note(owned, "young")
    admin.execute("reset session authorization")
    admin.execute("update loci_data.feedback_signals set at = at - interval '91 days' where id = any (%s)", [old])
    admin.execute("set session authorization loci_app")
    act_as(admin, OPERATOR)
    owned.rows("select loci_api.sweep_log('feedback_signals')")
    assert [row["id"] for row in owned.rows("select id from loci.list_signals(%(ns)s)")] == young


def test_only_the_operator_sweeps_signals(owned: World, admin: psycopg.Connection[Any]) -> None:
    admin.execute("reset session authorization")
    agent = grant(admin, owned.name, "admin")
    admin.execute("set session authorization loci_app")
    act_as(admin, agent)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owned.rows("select loci_api.sweep_log('feedback_signals')")


@pytest.mark.parametrize(
    ("share", "of", "limit"), [(0.1, 9, 0), (0.1, 10, 1), (0.1, 30, 3), (0.3, 10, 3), (1, 7, 7), (0, 7, 0), (0.5, 0, 0)]
)
def test_a_share_of_things_is_rounded_down(admin: psycopg.Connection[Any], share: float, of: int, limit: int) -> None:
    row = admin.execute("select loci_internal.removal_limit(1, %s, %s) as removable", [share, of]).fetchone()
    assert row == {"removable": limit}


@pytest.mark.parametrize("share", [-0.1, 1.1, None])
def test_an_invalid_share_is_refused_by_its_setting(admin: psycopg.Connection[Any], share: float | None) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        admin.execute("select loci_internal.removal_limit(1, %s, 10)", [share])
    assert refused.value.diag.column_name == "dream_removed_share"


def test_a_share_above_one_is_no_setting(world: World) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        world.rows("select loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": {"dream_removed_share": 1.5}}))


def test_days_that_signals_count_have_24_hours_also_where_clocks_were_changed(owned: World, admin: psycopg.Connection[Any]) -> None:
    owned.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"dream_signal_days": 5}}))
    (near,), (far,) = note(owned, "still counts"), note(owned, "counts no more")
    admin.execute("reset session authorization")
    for signal, hours in ((near, 5 * 24 - 1), (far, 5 * 24 + 1)):
        admin.execute(
            "update loci_data.feedback_signals set at = clock_timestamp() - %s where id = %s", [timedelta(hours=hours), signal]
        )
    for hours in (6, -6):  # by so much the clocks of the session's zone were changed three days ago
        admin.execute("select set_config('timezone', %s, true)", [changed_clocks(owned.now() - timedelta(days=3), hours)])
        assert owned.value(
            "select %(now)s::timestamptz - (%(now)s::timestamptz - interval '5 days')", now=owned.now()
        ) != timedelta(5)
        assert [row["id"] for row in owned.rows("select id from loci_api.recent_signals(%(ns)s)")] == [near]


def changed_clocks(at: datetime, hours: int) -> str:
    """A time zone, as POSIX writes them: UTC, and for a hundred days from the day of `at` on UTC and so many hours."""
    first = at.timetuple().tm_yday - (calendar.isleap(at.year) and at.month > 2)  # 29 February has no number
    return f"AAA0BBB{-hours:+d},J{min(first, 365)}/0,J{(first + 99) % 365 + 1}/0"
